import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { QuestionAsked } from "../api/types.gen";
import type { QuestionItem } from "../session/items";
import { toasts } from "../store/toast";
import { AskedRow } from "./asked";
import { chosen } from "./chosen";
import QuestionDock from "./dock";
import { choicesOf, claimsOf, readAddress } from "./words";

interface Sent {
	url: string;
	body: { action: string; content?: unknown; by: string };
}

let sent: Sent[] = [];
let answer: () => Response = () => new Response(null, { status: 204 });

beforeEach(() => {
	sent = [];
	answer = () => new Response(null, { status: 204 });
	vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
		sent.push({ url, body: JSON.parse(String(init.body)) });
		return answer();
	});
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"], shouldAdvanceTime: true });
});

afterEach(() => {
	cleanup();
	vi.useRealTimers();
	vi.unstubAllGlobals();
	toasts.set(() => []);
	chosen.set(() => undefined);
});

function question(asked: Partial<QuestionAsked>): QuestionItem {
	const whole: QuestionAsked = {
		questionId: "q1",
		kind: "permission",
		server: "files",
		tool: "write",
		title: "Write a file",
		message: "It has not been allowed yet.",
		arguments: { path: "/tmp/a" },
		annotations: { destructiveHint: true },
		description: "Writes.",
		allowed: ["once", "session", "always", "no"],
		expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
		...asked,
	};
	return { kind: "question", key: whole.questionId, asked: whole, time: "2026-01-01T00:00:00Z" };
}

/** Draws a question and waits until its buttons count. */
function draw(...questions: QuestionItem[]): void {
	render(<QuestionDock questions={questions} />);
	act(() => void vi.advanceTimersByTime(600));
}

const wireError = (status: number, error: object) =>
	new Response(JSON.stringify({ error }), { status, headers: { "Content-Type": "application/json" } });

describe("a permission", () => {
	it("says what would run and marks what the server claims", () => {
		draw(question({}));
		expect(screen.getByText("May Write a file of files run?")).toBeTruthy();
		expect(screen.getByText('"/tmp/a"')).toBeTruthy();
		const claims = screen.getByRole("region", { name: "What files claims" });
		expect(claims.textContent).toContain("nobody checked");
		expect(claims.textContent).toContain("may destroy");
	});

	it.each([
		["y", "once"],
		["s", "session"],
		["a", "always"],
		["n", "no"],
	])("is answered with the key %s", async (key, action) => {
		draw(question({}));
		fireEvent.keyDown(document.body, { key });
		await waitFor(() => expect(sent).toHaveLength(1));
		expect(sent[0]).toEqual({ url: "/v1/questions/q1/answer", body: { action, by: "webshell" } });
	});

	it("hears no key of somebody who types, and none with a modifier", () => {
		draw(question({}));
		const input = document.body.appendChild(document.createElement("textarea"));
		fireEvent.keyDown(input, { key: "y" });
		fireEvent.keyDown(document.body, { key: "a", ctrlKey: true });
		fireEvent.keyDown(document.body, { key: "s", repeat: true });
		expect(sent).toEqual([]);
		input.remove();
	});

	it("does not take for an answer what came as it appeared", () => {
		render(<QuestionDock questions={[question({})]} />);
		fireEvent.keyDown(document.body, { key: "y" });
		fireEvent.click(screen.getByRole("button", { name: /^Once/ }));
		expect(sent).toEqual([]);
	});

	it("folds long arguments and shows what the server changed", () => {
		draw(
			question({
				arguments: { text: "x".repeat(5000) },
				difference: [{ where: "description", before: "Reads.", after: "Writes." }],
			}),
		);
		expect(screen.getByText("Arguments").closest("details")?.open).toBe(false);
		const changes = screen.getByRole("region", { name: "What changed" });
		expect(within(changes).getByText("Reads.").tagName).toBe("DEL");
		expect(within(changes).getByText("Writes.").tagName).toBe("INS");
	});

	it("says it kindly when somebody else was first", async () => {
		answer = () => wireError(409, { code: "answered", message: 'The question was answered with "no" by chat before.' });
		draw(question({}));
		fireEvent.click(screen.getByRole("button", { name: /^Once/ }));
		await waitFor(() => expect(toasts.get()).toHaveLength(1));
		expect(toasts.get()[0]).toMatchObject({
			tone: "plain",
			text: 'Too late: the question was answered with "no" by chat before.',
		});
	});

	it("lets the person try again when the daemon does not answer", async () => {
		answer = () => wireError(500, { code: "internal", message: "Something went wrong inside Usher." });
		draw(question({}));
		fireEvent.click(screen.getByRole("button", { name: /^No/ }));
		await screen.findByText("Something went wrong inside Usher.");
		answer = () => new Response(null, { status: 204 });
		fireEvent.click(screen.getByRole("button", { name: /^No/ }));
		await waitFor(() => expect(sent).toHaveLength(2));
	});
});

describe("a form", () => {
	const form = (properties: object, required: string[] = []) =>
		question({
			kind: "form",
			message: "Who are you?",
			allowed: ["accept", "decline", "cancel"],
			schema: { type: "object", properties, required },
		});

	it("sends what was filled in, lists without order included", async () => {
		draw(
			form(
				{
					name: { type: "string", title: "Name", default: "Ada" },
					age: { type: "integer", title: "Age" },
					news: { type: "boolean", title: "News" },
					size: { type: "string", title: "Size", oneOf: [{ const: "s", title: "Small" }] },
					tags: { type: "array", title: "Tags", items: { type: "string", enum: ["a", "b"] } },
				},
				["name"],
			),
		);
		expect(screen.getByText("Who are you?").tagName).toBe("BLOCKQUOTE");
		fireEvent.change(screen.getByLabelText("Age"), { target: { value: "36" } });
		fireEvent.click(screen.getByLabelText("News"));
		fireEvent.change(screen.getByLabelText("Size"), { target: { value: "0" } });
		fireEvent.click(screen.getByLabelText("b"));
		fireEvent.click(screen.getByRole("button", { name: "Send to files" }));
		await waitFor(() => expect(sent).toHaveLength(1));
		expect(sent[0]?.body).toEqual({
			action: "accept",
			by: "webshell",
			content: { name: "Ada", age: 36, news: true, size: "s", tags: ["b"] },
		});
	});

	it("sends nothing that does not fit, and says why beside the field", () => {
		draw(form({ mail: { type: "string", title: "Mail", format: "email" } }, ["mail"]));
		fireEvent.click(screen.getByRole("button", { name: "Send to files" }));
		expect(screen.getByText("Needed.")).toBeTruthy();
		fireEvent.change(screen.getByLabelText("Mail"), { target: { value: "nobody" } });
		expect(screen.getByText("Not a valid email.")).toBeTruthy();
		expect(sent).toEqual([]);
	});

	it("shows what the daemon refused beside its field", async () => {
		answer = () => wireError(400, { code: "invalid", message: "content.code: not known", field: "content.code" });
		draw(form({ code: { type: "string", title: "Code" } }));
		fireEvent.change(screen.getByLabelText("Code"), { target: { value: "1" } });
		fireEvent.click(screen.getByRole("button", { name: "Send to files" }));
		await screen.findByText("content.code: not known");
		expect(screen.getByLabelText("Code").getAttribute("aria-invalid")).toBe("true");
		fireEvent.change(screen.getByLabelText("Code"), { target: { value: "2" } });
		expect(screen.queryByText("content.code: not known")).toBeNull();
	});

	it.each(["Decline", "Cancel"])("is left with %s", async (name) => {
		draw(form({ name: { type: "string" } }, ["name"]));
		fireEvent.click(screen.getByRole("button", { name }));
		await waitFor(() => expect(sent[0]?.body).toEqual({ action: name.toLowerCase(), by: "webshell" }));
	});

	it("keeps what was written while another question is looked at", () => {
		const first = form({ name: { type: "string", title: "Name" } });
		draw(first, question({ questionId: "q2" }));
		fireEvent.change(screen.getByLabelText("Name"), { target: { value: "Ada" } });
		fireEvent.click(screen.getByRole("button", { name: "Next question" }));
		expect(screen.getByText("May Write a file of files run?")).toBeTruthy();
		fireEvent.click(screen.getByRole("button", { name: "Next question" }));
		expect(screen.getByLabelText<HTMLInputElement>("Name").value).toBe("Ada");
	});
});

describe("an address", () => {
	const ask = (url: string) =>
		question({ kind: "url", message: "Log in", url, allowed: ["accept", "decline", "cancel"] });

	it("is shown whole, opens by a click alone and tells the server", async () => {
		draw(ask("https://files.example/login?state=1#x"));
		expect(document.querySelector(".question-address")?.textContent).toBe("https://files.example/login?state=1#x");
		expect(document.querySelector(".question-address b")?.textContent).toBe("files.example");
		const link = screen.getByRole("link", { name: "Open files.example in a new tab" });
		expect(link.getAttribute("href")).toBe("https://files.example/login?state=1#x");
		expect(link.getAttribute("target")).toBe("_blank");
		expect(link.getAttribute("rel")).toContain("noopener");
		expect(sent).toEqual([]);
		link.addEventListener("click", (event) => event.preventDefault());
		fireEvent.click(link);
		await waitFor(() => expect(sent[0]?.body.action).toBe("accept"));
	});

	it.each(["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "no address", "https://a b/"])(
		"is not opened when it is %j",
		(url) => {
			draw(ask(url));
			expect(screen.queryByRole("link")).toBeNull();
			expect(screen.getByText(/cannot be opened from here/)).toBeTruthy();
			expect(screen.getByRole("button", { name: "Decline" })).toBeTruthy();
			expect(screen.queryByRole("button", { name: "Accept" })).toBeNull();
		},
	);

	it.each([
		["https://good.example@evil.example/x", "https://good.example@", "evil.example", "/x"],
		["HTTPS://Evil.Example:8443?good.example", "HTTPS://", "Evil.Example:8443", "?good.example"],
		["http://127.0.0.1:9/#@good.example", "http://", "127.0.0.1:9", "/#@good.example"],
	])("has its true host told apart in %s", (url, before, host, after) => {
		expect(readAddress(url)).toMatchObject({ before, host, after });
	});

	it("names a host in other letters in those of the network", () => {
		expect(readAddress("https://раураl.example/").plainHost).toMatch(/^xn--/);
		expect(readAddress("https://plain.example/").plainHost).toBeUndefined();
	});

	it("is opened by its host in the letters of the network", () => {
		draw(ask("https://раураl.example/"));
		expect(screen.getByRole("link").textContent).toMatch(/Open xn--\S+\.example in a new tab/);
	});

	it("is not opened where browsers and readers disagree about its host", () => {
		expect(readAddress("https://good.example\\@evil.example/").href).toBeUndefined();
	});
});

describe("a question in the transcript", () => {
	it("leads to its card while it waits", () => {
		const [first, second] = [question({}), question({ questionId: "q2", title: "Read a file" })];
		render(<AskedRow question={second} />);
		draw(first, second);
		expect(screen.getByRole("heading", { name: "May Write a file of files run?" })).toBeTruthy();
		fireEvent.click(screen.getByRole("button", { name: "Answer below" }));
		expect(screen.getByRole("heading", { name: "May Read a file of files run?" })).toBeTruthy();
		expect(document.activeElement?.id).toBe("questions");
	});

	it("says how it ended and where", () => {
		const asked = question({});
		render(
			<AskedRow
				question={{ ...asked, answered: { questionId: "q1", action: "always", by: "chat", time: asked.time } }}
			/>,
		);
		expect(screen.getByText("Always allowed").textContent).toBe("Always allowed in the terminal");
	});

	it("says when nobody answered", () => {
		const asked = question({});
		render(<AskedRow question={{ ...asked, expired: { questionId: "q1", reason: "deadline", time: asked.time } }} />);
		expect(screen.getByText("Nobody answered in time")).toBeTruthy();
	});
});

describe("words", () => {
	it("offers the allowed answers alone, unknown ones by their name", () => {
		expect(choicesOf(question({ allowed: ["once", "no", "later"] }).asked).map((choice) => choice.label)).toEqual([
			"Once",
			"No",
			"later",
		]);
	});
	it("repeats claims and makes none", () => {
		expect(claimsOf({ readOnlyHint: true, openWorldHint: false })).toEqual(["only reads", "stays in its own world"]);
		expect(claimsOf(undefined)).toEqual([]);
		expect(claimsOf({ title: "x" })).toEqual([]);
	});
});
