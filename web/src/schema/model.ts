import { isObject, type Json, type JsonObject } from "../api/json";

/** How a text is typed in. */
export type TextInput = "text" | "email" | "url" | "date" | "time" | "datetime-local";

/** One possible value of a choice. */
export interface Option {
	value: Json;
	label: string;
}

/** What a form shows for a schema. `json` is the honest rest: a JSON text that is checked. */
export type Field =
	| { kind: "text"; input: TextInput; multiline: boolean }
	| { kind: "number"; integer: boolean; min?: number; max?: number }
	| { kind: "boolean" }
	| { kind: "choice"; options: Option[] }
	| { kind: "choices"; options: Option[] }
	| { kind: "array"; item: Node }
	| { kind: "object"; properties: Property[] }
	| { kind: "json"; expects: string };

/** A schema as a form understands it. */
export interface Node {
	field: Field;
	title: string;
	description: string;
	/** What holds besides the type, in a few words: "1 to 10", "at most 80 characters". */
	bounds: string;
	default?: Json;
	nullable: boolean;
}

export interface Property {
	name: string;
	required: boolean;
	node: Node;
}

/** Beyond this depth a form would be a maze, and a schema that refers to itself has no end. */
const maxDepth = 5;
const maxRefs = 16;
const maxProperties = 200;
const maxOptions = 500;

/** Reads a tool's input schema; undefined stands for no arguments. */
export function readSchema(schema: unknown): Node {
	const root = isObject(schema) ? schema : { type: "object" };
	return interpret(root, root, "", 0);
}

function interpret(given: Json, root: JsonObject, name: string, depth: number): Node {
	const flat = flatten(given, root);
	const { schema, nullable } = splitNull(flat, root);
	const node: Node = {
		field: { kind: "json", expects: typeWords(schema) },
		title: text(schema.title) || text(flat.title) || name,
		description: text(flat.description) || text(schema.description),
		bounds: boundsOf(schema),
		nullable,
	};
	const fallback = flat.default ?? schema.default;
	if (fallback !== undefined) node.default = fallback;
	node.field = fieldOf(schema, root, name, depth);
	return node;
}

function fieldOf(schema: JsonObject, root: JsonObject, name: string, depth: number): Field {
	const other: Field = { kind: "json", expects: typeWords(schema) };
	const options = optionsOf(schema, root);
	if (options) return { kind: "choice", options };
	if (schema.anyOf || schema.oneOf || schema.not || schema.if) return other;

	switch (typeOf(schema)) {
		case "string":
			return textField(schema, name);
		case "boolean":
			return { kind: "boolean" };
		case "integer":
		case "number": {
			const field: Field = { kind: "number", integer: schema.type === "integer" };
			if (typeof schema.minimum === "number") field.min = schema.minimum;
			if (typeof schema.maximum === "number") field.max = schema.maximum;
			return field;
		}
		case "array": {
			if (depth >= maxDepth || !isObject(schema.items) || schema.prefixItems) return other;
			const choices = schema.uniqueItems === true && optionsOf(flatten(schema.items, root), root);
			if (choices) return { kind: "choices", options: choices };
			return { kind: "array", item: interpret(schema.items, root, "", depth + 1) };
		}
		case "object": {
			const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
			const open = isObject(schema.additionalProperties) || schema.patternProperties !== undefined;
			if (properties.length > maxProperties || (depth > 0 && (depth >= maxDepth || properties.length === 0)))
				return other;
			if (open && properties.length === 0) return other;
			const required = Array.isArray(schema.required) ? schema.required : [];
			return {
				kind: "object",
				properties: properties.map(([key, value]) => ({
					name: key,
					required: required.includes(key),
					node: interpret(value, root, key, depth + 1),
				})),
			};
		}
		default:
			return other;
	}
}

function textField(schema: JsonObject, name: string): Field {
	const inputs: Record<string, TextInput> = {
		email: "email",
		uri: "url",
		url: "url",
		date: "date",
		time: "time",
		"date-time": "datetime-local",
	};
	const input = (typeof schema.format === "string" && inputs[schema.format]) || "text";
	const long =
		(typeof schema.maxLength === "number" && schema.maxLength > 160) ||
		typeof schema.contentMediaType === "string" ||
		(typeof schema.default === "string" && (schema.default.includes("\n") || schema.default.length > 80)) ||
		/^(markdown|multiline|textarea|html)$/.test(text(schema.format)) ||
		/(^|[_-]|[a-z](?=[A-Z]))(content|body|code|script|source|html|markdown|sql|notation|notes)$/i.test(name);
	return { kind: "text", input, multiline: input === "text" && long && schema.pattern === undefined };
}

/** Follows local references and merges allOf, so that the rest can look at one object. */
function flatten(given: Json, root: JsonObject): JsonObject {
	let schema: JsonObject = isObject(given) ? given : {};
	for (let i = 0; typeof schema.$ref === "string" && i < maxRefs; i++) {
		const { $ref, ...rest } = schema;
		const target = lookup(root, $ref as string);
		if (!isObject(target)) return { ...rest, not: {} };
		schema = { ...target, ...rest };
	}
	if (typeof schema.$ref === "string") return { not: {} };
	if (Array.isArray(schema.allOf) && schema.allOf.length > 0 && schema.allOf.length <= maxRefs) {
		const { allOf, ...rest } = schema;
		const parts = [
			rest,
			...allOf.map((part) => (isObject(part) && "allOf" in part ? { not: {} } : flatten(part, root))),
		];
		schema = parts.reduce<JsonObject>((merged, part) => mergeSchemas(merged, part), {});
	}
	return schema;
}

function mergeSchemas(a: JsonObject, b: JsonObject): JsonObject {
	const merged = { ...b, ...a };
	if (isObject(a.properties) && isObject(b.properties)) merged.properties = { ...b.properties, ...a.properties };
	if (Array.isArray(a.required) && Array.isArray(b.required)) merged.required = [...b.required, ...a.required];
	return merged;
}

function lookup(root: JsonObject, ref: string): Json | undefined {
	if (ref === "#") return root;
	if (!ref.startsWith("#/")) return undefined;
	let at: Json | undefined = root;
	for (const part of ref.slice(2).split("/")) {
		const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
		if (Array.isArray(at)) at = at[Number(key)];
		else if (isObject(at) && Object.hasOwn(at, key)) at = at[key];
		else return undefined;
	}
	return at;
}

/** Many servers write an optional value as "this or null": the form shows this, and leaves it out when empty. */
function splitNull(schema: JsonObject, root: JsonObject): { schema: JsonObject; nullable: boolean } {
	if (Array.isArray(schema.type) && schema.type.includes("null")) {
		const rest = schema.type.filter((type) => type !== "null");
		return { schema: { ...schema, type: rest.length === 1 ? (rest[0] as Json) : rest }, nullable: true };
	}
	for (const word of ["anyOf", "oneOf"] as const) {
		const branches = schema[word];
		if (!Array.isArray(branches)) continue;
		const rest = branches.filter((branch) => !(isObject(branch) && branch.type === "null"));
		const { [word]: _, ...outer } = schema;
		if (rest.length === 1) {
			const inner = flatten(rest[0] as Json, root);
			return { schema: { ...inner, ...outer }, nullable: rest.length < branches.length };
		}
		if (rest.length < branches.length) return { schema: { ...outer, [word]: rest }, nullable: true };
	}
	return { schema, nullable: false };
}

function optionsOf(schema: JsonObject, root: JsonObject): Option[] | undefined {
	if (schema.const !== undefined) return [{ value: schema.const, label: text(schema.title) || labelOf(schema.const) }];
	if (Array.isArray(schema.enum)) {
		const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
		const values = schema.enum.filter((value) => value !== null);
		if (values.length === 0 || values.length > maxOptions) return undefined;
		return values.map((value, i) => ({ value, label: text(names[i]) || labelOf(value) }));
	}
	const branches = schema.oneOf ?? schema.anyOf;
	if (!Array.isArray(branches) || branches.length === 0 || branches.length > maxOptions) return undefined;
	const options: Option[] = [];
	for (const branch of branches) {
		const flat = flatten(branch, root);
		if (flat.const === undefined) return undefined;
		options.push({ value: flat.const, label: text(flat.title) || labelOf(flat.const) });
	}
	return options;
}

function typeOf(schema: JsonObject): string {
	if (typeof schema.type === "string") return schema.type;
	if (Array.isArray(schema.type) && schema.type.length === 1) return text(schema.type[0]);
	if (schema.type !== undefined) return "";
	if (schema.properties !== undefined) return "object";
	if (schema.items !== undefined) return "array";
	return "";
}

function typeWords(schema: JsonObject): string {
	if (Array.isArray(schema.type)) return schema.type.map(text).join(" or ");
	if (typeof schema.type === "string") return schema.type;
	const branches = schema.anyOf ?? schema.oneOf;
	if (Array.isArray(branches)) return `one of ${branches.length} forms`;
	return "any value";
}

function boundsOf(schema: JsonObject): string {
	const words: string[] = [];
	const range = (low: Json | undefined, high: Json | undefined, unit: string) => {
		if (typeof low === "number" && typeof high === "number") words.push(`${low} to ${high}${unit}`);
		else if (typeof low === "number" && low > 0) words.push(`at least ${low}${unit}`);
		else if (typeof low === "number" && unit === "") words.push(`at least ${low}`);
		else if (typeof high === "number") words.push(`at most ${high}${unit}`);
	};
	range(schema.minimum, schema.maximum, "");
	if (typeof schema.exclusiveMinimum === "number") words.push(`more than ${schema.exclusiveMinimum}`);
	if (typeof schema.exclusiveMaximum === "number") words.push(`less than ${schema.exclusiveMaximum}`);
	if (typeof schema.multipleOf === "number") words.push(`a multiple of ${schema.multipleOf}`);
	if (schema.minLength === 1 && schema.maxLength === undefined) words.push("not empty");
	else range(schema.minLength, schema.maxLength, " characters");
	range(schema.minItems, schema.maxItems, " items");
	if (schema.uniqueItems === true) words.push("no two alike");
	if (typeof schema.pattern === "string") words.push(`matches ${schema.pattern}`);
	return words.join(", ");
}

/** The value a form starts with: defaults, and what can only be one thing. */
export function initialValue(node: Node, required: boolean): Json | undefined {
	if (node.default !== undefined) return node.default;
	if (!required) return undefined;
	switch (node.field.kind) {
		case "object": {
			const value: JsonObject = {};
			for (const { name, required: needed, node: child } of node.field.properties) {
				const start = initialValue(child, needed);
				if (start !== undefined) value[name] = start;
			}
			return value;
		}
		case "boolean":
			return false;
		case "choice":
			return node.field.options.length === 1 ? node.field.options[0]?.value : undefined;
		case "array":
		case "choices":
			return [];
		default:
			return undefined;
	}
}

function labelOf(value: Json): string {
	return typeof value === "string" ? value : JSON.stringify(value);
}

function text(value: Json | undefined): string {
	return typeof value === "string" ? value : "";
}
