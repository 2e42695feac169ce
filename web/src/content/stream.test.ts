import { describe, expect, it } from "vitest";
import { splitBlocks, steadyEnd } from "./stream";

describe("splitBlocks", () => {
	it("cuts between paragraphs, and the pieces are the text", () => {
		const text = "# Title\n\nFirst.\n\nSecond\nline.\n\n\nThird.";
		const blocks = splitBlocks(text);
		expect(blocks.map((block) => block.trim())).toEqual(["# Title", "First.", "Second\nline.", "Third."]);
		expect(blocks.join("\n")).toBe(text);
	});

	it.each([
		["a list with blank lines", "1. one\n\n2. two\n\n   more\n\n3. three"],
		["code with blank lines", "```go\na\n\nb\n```"],
		["code that is not closed", "~~~~\na\n\n~~~\n\nb"],
		["reference links", "[a][1]\n\nmore\n\n[1]: https://example.com"],
	])("leaves %s whole", (_what, text) => {
		expect(splitBlocks(text)).toEqual([text]);
	});

	it("goes on cutting after code", () => {
		expect(splitBlocks("```\na\n\nb\n```\n\nafter")).toHaveLength(2);
	});
});

describe("steadyEnd", () => {
	it.each([
		["a paragraph and what may be its underline", "Words\n--", "Words"],
		["a list mark without its item", "- one\n- ", "- one"],
		["a table's head alone", "| a | b |\n|--", ""],
		["bold that is not closed", "so **much", "so **much**"],
		["bold half closed", "so **much*", "so **much**"],
		["bold that just opens", "so **", "so "],
		["code that is not closed", "call `f", "call `f`"],
		["a link on its way", "see [the page](https://exa", "see the page"],
		["a link's text on its way", "see [the pa", "see the pa"],
		["plain text", "plain text", "plain text"],
		["code as it is", "```\n--", "```\n--"],
		["stars inside code", "`a**b` and", "`a**b` and"],
	])("keeps %s still", (_what, text, steady) => {
		expect(steadyEnd(text)).toBe(steady);
	});

	it("shows a table once it is one", () => {
		const table = "| a | b |\n|---|---|\n| 1 | 2";
		expect(steadyEnd(table)).toBe(table);
	});
});
