# SPDX-License-Identifier: Apache-2.0
"""The data that a page of `cudaspy report` or `cudaspy diff` carries."""
import json
import pathlib
import re


def packed_data_in(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def data_in(page):
    """What a page is drawn from: what repeats stands in `shared` once, as docs/JSON.md has it."""
    data = packed_data_in(page)
    shared = data.pop('shared')

    def whole(value):
        if isinstance(value, dict):
            return whole(shared[value['=']]) if list(value) == ['='] else {k: whole(v) for k, v in value.items()}
        return [whole(v) for v in value] if isinstance(value, list) else value

    return whole(data)


def data_of(path):
    return data_in(pathlib.Path(path).read_text())
