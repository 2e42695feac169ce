import { describe, expect, it } from "vitest";
import { isObject, parseJSON, plainJSON } from "./json";

const exact = "rawJSON" in JSON;

describe("parseJSON", () => {
	it("reads ordinary JSON as JSON.parse does", () => {
		const text = '{"a":[1,2.5,-3e2,"x",null,true],"b":{"c":"1234567890123456789"}}';
		expect(parseJSON(text)).toEqual(JSON.parse(text));
	});

	it.runIf(exact)("keeps integers beyond 2^53 and numbers beyond a double as they were written", () => {
		for (const text of ['{"id":12345678901234567890}', '{"id":-9007199254740993}', '{"id":1e999}']) {
			expect(JSON.stringify(parseJSON(text))).toBe(text);
		}
		expect(isObject((parseJSON('{"id":12345678901234567890}') as { id: unknown }).id)).toBe(false);
	});

	it("throws on what is not JSON", () => {
		expect(() => parseJSON("{")).toThrow(SyntaxError);
	});
});

describe("plainJSON", () => {
	it("gives values that structured cloning takes", () => {
		expect(structuredClone(plainJSON(parseJSON('{"n":12345678901234567890,"a":[1]}')))).toEqual({
			n: Number("12345678901234567890"),
			a: [1],
		});
		expect(plainJSON(undefined)).toBeUndefined();
	});
});
