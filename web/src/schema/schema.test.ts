import { describe, expect, it } from "vitest";
import { initialValue, readSchema } from "./model";
import { makeChecker } from "./validate";

const kindOf = (schema: unknown, name = "x") => {
	const node = readSchema({ type: "object", properties: { [name]: schema } });
	return node.field.kind === "object" ? node.field.properties[0]?.node : undefined;
};

describe("readSchema", () => {
	it.each([
		["a string", { type: "string" }, { kind: "text", input: "text", multiline: false }],
		["a date", { type: "string", format: "date" }, { kind: "text", input: "date", multiline: false }],
		["an address", { type: "string", format: "email" }, { kind: "text", input: "email", multiline: false }],
		["a URI", { type: "string", format: "uri" }, { kind: "text", input: "url", multiline: false }],
		["a long string", { type: "string", maxLength: 5000 }, { kind: "text", input: "text", multiline: true }],
		["an integer", { type: "integer", minimum: 1, maximum: 9 }, { kind: "number", integer: true, min: 1, max: 9 }],
		["a number", { type: "number" }, { kind: "number", integer: false }],
		["a boolean", { type: "boolean" }, { kind: "boolean" }],
		[
			"an enum with names",
			{ type: "string", enum: ["a", "b"], enumNames: ["Ay"] },
			{
				kind: "choice",
				options: [
					{ value: "a", label: "Ay" },
					{ value: "b", label: "b" },
				],
			},
		],
		[
			"an enum of numbers",
			{ enum: [1, 2] },
			{ kind: "choice", options: [1, 2].map((value) => ({ value, label: String(value) })) },
		],
		[
			"titled constants",
			{ oneOf: [{ const: "eu", title: "Europe" }, { const: "us" }] },
			{
				kind: "choice",
				options: [
					{ value: "eu", label: "Europe" },
					{ value: "us", label: "us" },
				],
			},
		],
		[
			"several of an enum",
			{ type: "array", uniqueItems: true, items: { enum: ["a"] } },
			{ kind: "choices", options: [{ value: "a", label: "a" }] },
		],
		[
			"a union of objects",
			{ oneOf: [{ type: "object" }, { type: "string" }] },
			{ kind: "json", expects: "one of 2 forms" },
		],
		["a map", { type: "object", additionalProperties: { type: "string" } }, { kind: "json", expects: "object" }],
		["a tuple", { type: "array", prefixItems: [{}], items: {} }, { kind: "json", expects: "array" }],
		["anything", {}, { kind: "json", expects: "any value" }],
		["true", true, { kind: "json", expects: "any value" }],
	])("shows %s", (_what, schema, field) => {
		expect(kindOf(schema)?.field).toEqual(field);
	});

	it("reads optional values written as this or null", () => {
		for (const schema of [
			{ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], default: null, title: "Limit" },
			{ type: ["integer", "null"], minimum: 1, title: "Limit" },
		]) {
			expect(kindOf(schema)).toMatchObject({ title: "Limit", nullable: true, field: { kind: "number", min: 1 } });
		}
	});

	it("follows local references and merges allOf", () => {
		const node = readSchema({
			type: "object",
			$defs: { point: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
			properties: {
				at: { $ref: "#/$defs/point", description: "Where" },
				both: { allOf: [{ $ref: "#/$defs/point" }, { properties: { y: { type: "number" } }, required: ["y"] }] },
			},
		});
		if (node.field.kind !== "object") throw new Error("not an object");
		const [at, both] = node.field.properties;
		expect(at?.node).toMatchObject({
			description: "Where",
			field: { kind: "object", properties: [{ name: "x", required: true }] },
		});
		expect(both?.node.field).toMatchObject({ kind: "object" });
		if (both?.node.field.kind !== "object") throw new Error("not merged");
		expect(both.node.field.properties.map((p) => [p.name, p.required]).sort()).toEqual([
			["x", true],
			["y", true],
		]);
	});

	it("ends where a schema refers to itself or to nowhere", () => {
		const loop = readSchema({
			type: "object",
			properties: { child: { $ref: "#" }, self: { $ref: "#/properties/self" }, gone: { $ref: "#/no" } },
		});
		expect(JSON.stringify(loop).length).toBeLessThan(20_000);
		expect(JSON.stringify(loop)).toContain('"kind":"json"');
	});
});

describe("initialValue", () => {
	it("takes defaults, needed booleans and single values, and leaves the rest out", () => {
		const node = readSchema({
			type: "object",
			required: ["flag", "kind", "list", "inner"],
			properties: {
				name: { type: "string" },
				count: { type: "integer", default: 3 },
				flag: { type: "boolean" },
				other: { type: "boolean" },
				kind: { const: "circle" },
				list: { type: "array", items: { type: "string" } },
				inner: { type: "object", properties: { deep: { type: "string", default: "d" } } },
				outer: { type: "object", properties: { deep: { type: "string", default: "d" } } },
			},
		});
		expect(initialValue(node, true)).toEqual({ count: 3, flag: false, kind: "circle", list: [], inner: { deep: "d" } });
	});
});

describe("makeChecker", () => {
	const check = makeChecker({
		type: "object",
		required: ["name", "address"],
		additionalProperties: false,
		properties: {
			name: { type: "string", minLength: 1, maxLength: 5 },
			age: { anyOf: [{ type: "integer", minimum: 0 }, { type: "null" }] },
			mail: { type: "string", format: "email" },
			tags: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, minItems: 1 },
			address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
		},
	});

	it.each([
		[{ name: "Ada", address: { city: "X" } }, []],
		[
			{},
			[
				["/name", "Needed."],
				["/address", "Needed."],
			],
		],
		[
			{ name: "", address: {} },
			[
				["/name", "Must not be empty."],
				["/address/city", "Needed."],
			],
		],
		[{ name: "Augusta", address: { city: "X" } }, [["/name", "May have at most 5 characters; these are 7."]]],
		[{ name: 1, address: { city: "X" } }, [["/name", "Must be text."]]],
		[{ name: "A", address: { city: "X" }, tags: ["a", "B"] }, [["/tags/1", "Does not match the pattern."]]],
		[{ name: "A", address: { city: "X" }, tags: [] }, [["/tags", "Needs at least one item."]]],
		[{ name: "A", address: { city: "X" }, mail: "no" }, [["/mail", "Not a valid email."]]],
		[{ name: "A", address: { city: "X" }, age: null }, []],
		[{ name: "A", address: { city: "X" }, age: -1 }, [["/age", "-1 is less than 0."]]],
	])("%j", (value, expected) => {
		const found = [...check(value as never)];
		expect(found).toEqual(expected);
	});

	it("names an unknown property", () => {
		expect([...check({ name: "A", address: { city: "X" }, extra: 1 })].flat().join(" ")).toContain("extra");
	});

	it("leaves the schema as it was and never throws", () => {
		const schema = { type: "object", properties: { a: { $ref: "#/$defs/none" }, b: { pattern: "(" } } };
		const before = JSON.stringify(schema);
		expect(() => makeChecker(schema)({ a: 1, b: "x" })).not.toThrow();
		expect(JSON.stringify(schema)).toBe(before);
	});
});
