import { describe, expect, it } from "vitest";
import { shapeOf } from "../content/text";
import { hrefOf, parseRoute, type Route } from "../store/route";
import { bytes, dayName, duration, elapsed } from "./format";

describe("elapsed", () => {
	it.each([
		[-5, "0 s"],
		[999, "0 s"],
		[9999, "9 s"],
		[59_999, "59 s"],
		[61_000, "1 min 1 s"],
	])("%d ms is %s", (ms, words) => expect(elapsed(ms)).toBe(words));
});

describe("duration", () => {
	it.each([
		[0, "0 ms"],
		[999, "999 ms"],
		[1000, "1.0 s"],
		[9949, "9.9 s"],
		[9960, "10 s"],
		[59_400, "59 s"],
		[59_700, "1 min 0 s"],
		[125_000, "2 min 5 s"],
		[3_599_900, "1 h 0 min"],
		[3_720_000, "1 h 2 min"],
	])("%d ms is %s", (ms, words) => expect(duration(ms)).toBe(words));
});

describe("dayName", () => {
	const now = new Date(2026, 2, 15, 0, 30);
	it.each([
		[new Date(2026, 2, 15, 0, 1), "Today"],
		[new Date(2026, 2, 14, 23, 59), "Yesterday"],
		[new Date(2026, 2, 16), "Today"],
	])("%s is %s", (time, name) => expect(dayName(time.toISOString(), now)).toBe(name));
	it("names weekdays within a week and dates before", () => {
		expect(dayName(new Date(2026, 2, 10).toISOString(), now)).toMatch(/day$/);
		expect(dayName(new Date(2025, 2, 10).toISOString(), now)).toContain("2025");
		expect(dayName("never", now)).toBe("Undated");
	});
});

describe("bytes", () => {
	it.each([
		[0, "0 B"],
		[1024, "1.0 KiB"],
		[1_572_864, "1.5 MiB"],
	])("%d", (n, words) => expect(bytes(n)).toBe(words));
});

describe("shapeOf", () => {
	it.each([
		["hello", "plain"],
		["a\nb\nc", "plain"],
		["total 3 * 4 = 12", "plain"],
		["# Title\ntext", "markdown"],
		["- one\n- two", "markdown"],
		["see [this](https://example.com)", "markdown"],
		["```\ncode\n```", "markdown"],
		['{"a":1}', "json"],
		["[1,2]", "json"],
		["[not json]", "plain"],
		["12", "plain"],
	])("%j is %s", (text, shape) => expect(shapeOf(text)).toBe(shape));
	it("follows a media type", () => {
		expect(shapeOf("# no heading", "text/x-python")).toBe("plain");
		expect(shapeOf("plain words", "text/markdown")).toBe("markdown");
		expect(shapeOf("{", "application/json")).toBe("plain");
	});
});

describe("routes", () => {
	const places: Route[] = [
		{ place: "session", id: undefined },
		{ place: "session", id: "a/b c" },
		{ place: "servers" },
		{ place: "server", name: "my/server", tab: "overview" },
		{ place: "server", name: "x", tab: "stderr" },
	];
	it.each(places)("%j has an address that leads back", (place) => expect(parseRoute(hrefOf(place))).toEqual(place));
	it("takes anything else for a new session", () => {
		for (const hash of ["", "#", "#code=abc", "#/nowhere/x", "#/s/%E0%A4%A"]) {
			expect(parseRoute(hash).place).toBe("session");
		}
	});
});
