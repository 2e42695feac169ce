import { expect, test } from "vitest";
import { followHeight, heights } from "./height";

test("starts with a height and follows the app", () => {
	const follow = followHeight();
	expect(follow.report({})).toBe(heights.initial);
	expect(follow.report({ height: 400 })).toBe(400);
	expect(follow.report({ height: 123.2 })).toBe(124);
});

test("stays within its bounds", () => {
	const follow = followHeight();
	expect(follow.report({ height: 1e12 })).toBe(heights.most);
	expect(follow.report({ height: 1 })).toBe(heights.least);
});

test.each([
	[{ height: -5 }],
	[{ height: 0 }],
	[{ height: Number.NaN }],
	[{ height: Number.POSITIVE_INFINITY }],
	[{ height: "400" }],
	[{ height: null }],
	[{ width: 300 }],
	[{ width: 0, height: 669 }],
])("ignores nonsense: %j", (size) => {
	expect(followHeight().report(size)).toBe(heights.initial);
});

test("takes the first report as it is, and no small change after it", () => {
	const follow = followHeight();
	expect(follow.report({ height: heights.initial + 2 })).toBe(heights.initial + 2);
	expect(follow.report({ height: heights.initial + 5 })).toBe(heights.initial + 2);
	expect(follow.report({ height: heights.initial - 2 })).toBe(heights.initial + 2);
	expect(follow.report({ height: heights.initial + 10 })).toBe(heights.initial + 10);
});

test.each([8, 16, 40])("ends a loop that grows by %d", (by) => {
	const follow = followHeight();
	let height = follow.report({ height: 100 });
	for (let i = 0; i < 200; i++) height = follow.report({ height: height + by });
	expect(height).toBeLessThan(heights.most);
	expect(height).toBe(follow.report({ height: height + by }));
});

test("ends an app that grows whatever its frame does", () => {
	const follow = followHeight();
	let height = 0;
	for (let asked = 200; asked < 5000; asked += 16) height = follow.report({ height: asked });
	expect(height).toBeLessThan(500);
});

test("lets an app grow again after it shrank, or after the width changed", () => {
	const follow = followHeight();
	let height = follow.report({ height: 100 });
	for (let i = 0; i < 50; i++) height = follow.report({ height: height + 16 });
	expect(follow.report({ height: height + 16 })).toBe(height);
	follow.rewidth();
	expect(follow.report({ height: height + 16 })).toBe(height + 16);
	expect(follow.report({ height: 100 })).toBe(100);
	expect(follow.report({ height: 116 })).toBe(116);
});

test("takes a big step at any time", () => {
	const follow = followHeight();
	let height = follow.report({ height: 100 });
	for (let i = 0; i < 50; i++) height = follow.report({ height: height + 8 });
	expect(follow.report({ height: 700 })).toBe(700);
});
