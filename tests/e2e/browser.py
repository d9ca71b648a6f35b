# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over a pipe: no port, no driver, nothing but Python's own library.

    with Browser() as browser:
        page = browser.open(path, width=390, dark=True)
        page.eval('document.title')
"""
import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'headless_shell')
PATIENCE = 60  # seconds for an answer; a machine may be busy


def find():
    """The browser's path, or None."""
    return os.environ.get('CHROMIUM') or next(filter(None, map(shutil.which, PROGRAMS)), None)


class Broken(Exception):
    """The browser did not start, went away or does not answer."""


class Browser:
    def __init__(self, program=None):
        self.folder = tempfile.mkdtemp(prefix='chromium-')
        self.messages = []  # events, as they came
        self.number, self.rest = 0, b''
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()
        flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--no-pings',
                 '--disable-background-networking', '--disable-component-update', '--disable-sync', '--hide-scrollbars',
                 '--force-color-profile=srgb', '--font-render-hinting=none', '--remote-debugging-pipe',
                 f'--user-data-dir={self.folder}', 'about:blank']

        def pipes():  # the browser reads from 3 and writes to 4
            high = [os.dup2(fd, to, inheritable=False) for fd, to in ((to_browser, 103), (from_browser, 104))]
            os.dup2(high[0], 3, inheritable=True)
            os.dup2(high[1], 4, inheritable=True)

        self.log = open(os.path.join(self.folder, 'log'), 'wb')
        self.process = subprocess.Popen([program or find(), *flags], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, close_fds=False, preexec_fn=pipes, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Broken, OSError):
            self.call('Browser.close')
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, until):
        """The next message, or None when it is `until`."""
        while b'\0' not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                return None
            piece = os.read(self.back, 1 << 16)
            if not piece:
                raise Broken(pathlib.Path(self.log.name).read_text(errors='replace')[-2000:])
            self.rest += piece
        line, _, self.rest = self.rest.partition(b'\0')
        return json.loads(line)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.read(until)
            if answer is None:
                raise Broken(f'no answer to {method}')
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise Broken(f'{method}: {answer["error"]}')
                return answer['result']
            self.messages.append(answer)

    def pump(self, seconds):
        """Takes what comes for a while."""
        until = time.monotonic() + seconds
        while True:
            answer = self.read(until)
            if answer is None:
                return
            self.messages.append(answer)

    def open(self, path, **view):
        return Page(self, path, **view)


class Page:
    """A file in a tab. `requests` and `console` are what it asked for and said since it was opened."""

    def __init__(self, browser, path, width=1280, height=800, dark=False, scale=1, touch=False, script=True, reduced=True):
        self.browser = browser
        self.target = browser.call('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.call('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log', 'Network', 'DOM', 'Accessibility':
            self.call(f'{domain}.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'},
            {'name': 'prefers-reduced-motion', 'value': 'reduce' if reduced else 'no-preference'}])
        if touch:
            self.call('Emulation.setTouchEmulationEnabled', enabled=True)
        if not script:
            self.call('Emulation.setScriptExecutionDisabled', value=True)
        self.call('Page.navigate', url=pathlib.Path(path).resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while not any(m['method'] == 'Page.loadEventFired' for m in self.events()):
            if time.monotonic() > until:
                raise Broken(f'{path} does not load')
            browser.pump(0.02)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def events(self):
        return [m for m in self.browser.messages if m.get('sessionId') == self.session]

    @property
    def requests(self):
        return [m['params']['request']['url'] for m in self.events() if m['method'] == 'Network.requestWillBeSent']

    @property
    def console(self):
        """Messages, errors, what a policy refused."""
        self.browser.pump(0.1)
        said = []
        for m in self.events():
            p = m['params']
            if m['method'] == 'Runtime.consoleAPICalled':
                said.append(' '.join(str(a.get('value', a.get('description'))) for a in p['args']))
            elif m['method'] == 'Runtime.exceptionThrown':
                d = p['exceptionDetails']
                said.append(d.get('exception', {}).get('description', d['text']))
            elif m['method'] == 'Log.entryAdded':
                said.append(p['entry']['text'])
            elif m['method'] == 'Page.javascriptDialogOpening':
                said.append(f'dialog: {p["message"]}')
        return said

    def eval(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise Broken(answer['exceptionDetails'].get('exception', {}).get('description', str(answer)))
        return answer['result'].get('value')

    def wait_for(self, condition):
        """Until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.eval(condition):
            if time.monotonic() > until:
                raise Broken(f'never: {condition}')
            self.browser.pump(0.02)

    def key(self, name, text=None, shift=False):
        code = {'Enter': 13, 'Tab': 9, 'Escape': 27, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40,
                'Home': 36, 'End': 35, ' ': 32}.get(name, ord(name[0].upper()))
        text = text if text is not None else {'Enter': '\r', ' ': ' '}.get(name, name if len(name) == 1 else None)
        down = {'type': 'keyDown' if text else 'rawKeyDown', 'key': name, 'code': name, 'windowsVirtualKeyCode': code,
                'modifiers': 8 if shift else 0}
        if text:
            down['text'] = text
        self.call('Input.dispatchKeyEvent', **down)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=name, code=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call('Input.insertText', text=text)

    def click(self, selector):
        """Where its middle is, as a mouse does."""
        where = self.eval(f'''(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});
            const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()''')
        for kind in 'mouseMoved', 'mousePressed', 'mouseReleased':
            self.call('Input.dispatchMouseEvent', type=kind, x=where[0], y=where[1], button='left', clickCount=1)

    def wheel(self, selector, delta, ctrl=False):
        where = self.eval(f'''(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});
            const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()''')
        self.call('Input.dispatchMouseEvent', type='mouseWheel', x=where[0], y=where[1], deltaX=0, deltaY=delta,
                  modifiers=2 if ctrl else 0)

    def screenshot(self, path, whole=True):
        if whole:
            size = self.call('Page.getLayoutMetrics')['cssContentSize']
            clip = {'x': 0, 'y': 0, 'width': size['width'], 'height': min(size['height'], 16000), 'scale': 1}
            data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=True, clip=clip)['data']
        else:
            data = self.call('Page.captureScreenshot', format='png')['data']
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call('Page.printToPDF', printBackground=True)['data'])

    def names(self):
        """(role, name) of everything that assistive technology is told of."""
        nodes = self.call('Accessibility.getFullAXTree')['nodes']
        return [(n.get('role', {}).get('value'), n.get('name', {}).get('value', '')) for n in nodes if not n.get('ignored')]

    def close(self):
        self.browser.call('Target.closeTarget', targetId=self.target)
