import { expect, test } from "vitest";
import { sandboxAddress } from "./sandbox";

const page = (url: string) => new URL(url);
const parse = (address: ReturnType<typeof sandboxAddress>) => {
	if ("problem" in address) throw new Error(address.problem);
	return new URL(address.url);
};

test.each([
	["http://127.0.0.1:8765/s/1", "http://localhost:8765"],
	["http://[::1]:8765/", "http://localhost:8765"],
	["http://localhost:8765/", "http://127.0.0.1:8765"],
	["http://127.0.0.1/", "http://localhost"],
])("a page on %s frames apps from %s", (from, to) => {
	const url = parse(sandboxAddress(page(from), true, undefined));
	expect(url.origin).toBe(to);
	expect(url.origin).not.toBe(page(from).origin);
	expect(url.pathname).toBe("/sandbox");
	expect(url.searchParams.get("host")).toBe(page(from).origin);
	expect(url.searchParams.has("csp")).toBe(false);
});

test.each(["http://127.0.0.1:8765/", "http://localhost:8765/", "http://[::1]:8765/"])(
	"without both loopbacks there is no app on %s",
	(from) => {
		expect(sandboxAddress(page(from), false, undefined)).toHaveProperty("problem");
	},
);

test.each([
	"http://192.168.1.5:8765/",
	"https://usher.example/",
	"http://127.0.0.1.evil.example/",
	"http://localhost.evil.example/",
])("there is no app on %s", (from) => {
	expect(sandboxAddress(page(from), true, undefined)).toHaveProperty("problem");
});

test("the address carries what the app declares, whole", () => {
	const csp = { connectDomains: ["https://a.example"], resourceDomains: ["https://*.b.example"] };
	const url = parse(sandboxAddress(page("http://127.0.0.1:1/"), true, csp));
	expect(JSON.parse(url.searchParams.get("csp") ?? "")).toEqual(csp);
	expect([...url.searchParams.keys()].sort()).toEqual(["csp", "host"]);
});

test("an app that declares too much is refused, not cut", () => {
	const csp = { connectDomains: Array.from({ length: 500 }, (_, i) => `https://${i}.a.example`) };
	expect(sandboxAddress(page("http://127.0.0.1:1/"), true, csp)).toEqual({ problem: "it declares too many origins" });
});
