import { type OutputUnit, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { isObject, type Json, plainJSON } from "../api/json";

/** What is wrong, by JSON pointer of the value it is about ("" is the whole). */
export type Findings = ReadonlyMap<string, string>;

/** The types of JSON in a person's words. */
const typeWords: Record<string, string> = {
	string: "text",
	integer: "a whole number",
	number: "a number",
	boolean: "true or false",
	array: "a list",
	object: "an object",
};

/** Keywords that only say that something beneath them failed. */
const containers = new Set(
	"properties patternProperties items prefixItems additionalItems unevaluatedItems contains allOf $ref $dynamicRef $recursiveRef if then else dependentSchemas propertyNames".split(
		" ",
	),
);

/** Checks arguments against a schema. It is made once per tool, and gives the words a form shows. */
export function makeChecker(schema: unknown): (value: Json) => Findings {
	if (!isObject(schema)) return () => new Map();
	let validator: Validator;
	try {
		// The validator writes into the schema it gets.
		validator = new Validator(plainJSON(schema), draftOf(schema.$schema), false);
	} catch {
		return () => new Map();
	}
	return (value) => {
		try {
			return findingsOf(validator.validate(plainJSON(value)).errors);
		} catch (cause) {
			// A schema with an unresolvable reference or a bad pattern: the server will judge.
			return new Map([
				["", `This tool's schema cannot be checked here: ${cause instanceof Error ? cause.message : cause}`],
			]);
		}
	};
}

function draftOf(schema: Json | undefined): SchemaDraft {
	const uri = typeof schema === "string" ? schema : "";
	if (uri.includes("draft-04")) return "4";
	if (uri.includes("draft-07") || uri.includes("draft-06")) return "7";
	return uri.includes("2019-09") ? "2019-09" : "2020-12";
}

function findingsOf(errors: readonly OutputUnit[]): Findings {
	const findings = new Map<string, string>();
	const note = (path: string, message: string) => {
		if (!findings.has(path)) findings.set(path, message);
	};
	for (const { keyword, instanceLocation, error } of errors) {
		const path = instanceLocation.replace(/^#/, "");
		const named = /"((?:[^"\\]|\\.)*)"/.exec(error)?.[1] ?? "";
		const between = /\((\d+) [<>] (\d+)\)/.exec(error);
		switch (keyword) {
			case "required":
				note(`${path}/${escapePointer(named)}`, "Needed.");
				break;
			case "additionalProperties":
			case "unevaluatedProperties":
				// With a schema for the rest, the finding beneath says more.
				if (!errors.some((e) => e.instanceLocation.startsWith(`${instanceLocation}/`))) {
					note(path, `Unknown: ${named}.`);
				}
				break;
			case "type": {
				const wanted = [...error.slice(error.indexOf("Expected")).matchAll(/"([^"]+)"/g)].map(
					(match) => match[1] ?? "",
				);
				if (wanted.join() !== "null")
					note(path, `Must be ${wanted.map((type) => typeWords[type] ?? type).join(" or ")}.`);
				break;
			}
			case "minLength":
				note(path, between?.[2] === "1" ? "Must not be empty." : `Needs at least ${between?.[2]} characters.`);
				break;
			case "maxLength":
				note(path, `May have at most ${between?.[2]} characters; these are ${between?.[1]}.`);
				break;
			case "minItems":
				note(path, `Needs at least ${between?.[2] === "1" ? "one item" : `${between?.[2]} items`}.`);
				break;
			case "maxItems":
				note(path, `May have at most ${between?.[2]} items.`);
				break;
			case "pattern":
				note(path, "Does not match the pattern.");
				break;
			case "format":
				note(path, `Not a valid ${named}.`);
				break;
			case "enum":
			case "const":
				note(path, "Not one of the allowed values.");
				break;
			case "anyOf":
			case "oneOf":
				if (
					!errors.some(
						(e) => e.instanceLocation.startsWith(instanceLocation) && !/^(anyOf|oneOf|type)$/.test(e.keyword),
					)
				) {
					note(path, "Matches none of the allowed forms.");
				}
				break;
			default:
				if (!containers.has(keyword)) note(path, error.replace(/^Instance /, "Value ").replace(/ {2,}/g, " "));
		}
	}
	// A value that is wrong without any word about it would look right.
	if (errors.length > 0 && findings.size === 0) findings.set("", "Does not match the schema.");
	return findings;
}

/** One step of a JSON pointer. */
export function escapePointer(part: string): string {
	return part.replaceAll("~", "~0").replaceAll("/", "~1");
}
