// SPDX-License-Identifier: Apache-2.0
// What the page is drawn from.

// What its data repeat stands in their list `shared` once; {"=": 7} is its item 7.
function unshared(data) {
	const list = data.shared || [], whole = [];

	function of(value) {
		if (value === null || typeof value !== 'object') {
			return value;
		}
		const number = value['='];
		if (Number.isInteger(number) && number in list) {
			if (!(number in whole)) {
				whole[number] = of(list[number]);
			}
			return whole[number];
		}
		for (const key of Object.keys(value)) {
			value[key] = of(value[key]);
		}
		return value;
	}
	delete data.shared;
	return of(data);
}

const page = unshared(JSON.parse(document.getElementById('data').textContent));
