import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useRef, useState } from "react";
import { afterEach, describe, expect, it } from "vitest";
import type { Tool } from "../api/types.gen";
import { useStore } from "../store/store";
import { draft, pickTool } from "./draft";
import { ToolForm, useFindings } from "./toolform";

afterEach(cleanup);

const tool: Tool = {
	server: "hotel",
	name: "book",
	label: "hotel__book",
	title: "Book",
	forModel: true,
	inputSchema: {
		type: "object",
		required: ["name", "nights", "room", "address"],
		properties: {
			name: { type: "string", title: "Guest", minLength: 2 },
			nights: { type: "integer", minimum: 1 },
			room: {
				oneOf: [
					{ const: "s", title: "Single" },
					{ const: "d", title: "Double" },
				],
			},
			breakfast: { type: "boolean" },
			guests: { type: "array", items: { type: "string" } },
			address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
			extra: { anyOf: [{ type: "object" }, { type: "string" }] },
		},
	},
};

function Form({ tried = false }: { tried?: boolean }) {
	const now = useStore(draft, (value) => value);
	const findings = useFindings(tool, now);
	const box = useRef<HTMLDivElement>(null);
	const [broken, setBroken] = useState("");
	return (
		<>
			<ToolForm
				tool={tool}
				draft={now}
				findings={findings}
				tried={tried}
				box={box}
				onBroken={(path, message) => setBroken(message ? path : "")}
			/>
			<output>{broken}</output>
		</>
	);
}

const type = (name: string | RegExp, value: string) =>
	fireEvent.change(screen.getByLabelText(name), { target: { value } });

describe("ToolForm", () => {
	it("makes arguments of every kind", () => {
		pickTool(tool);
		render(<Form />);
		type("Guest", "Ada");
		type("nights", "3");
		type("room", "1");
		fireEvent.click(screen.getByRole("switch", { name: "breakfast" }));
		fireEvent.click(screen.getByRole("button", { name: "Add an item" }));
		type("1", "Bob");
		fireEvent.click(screen.getByRole("button", { name: "Add another" }));
		type("2", "Cy");
		fireEvent.click(screen.getByRole("button", { name: "Move item 2 up" }));
		type("city", "Berlin");
		type("extra", '{"a": 12345678901234567890}');
		const { extra, ...rest } = draft.get().args;
		expect(rest).toEqual({
			name: "Ada",
			nights: 3,
			room: "d",
			breakfast: true,
			guests: ["Cy", "Bob"],
			address: { city: "Berlin" },
		});
		expect(extra).toBeDefined();
	});

	it("leaves out what was emptied or taken back", () => {
		pickTool(tool);
		render(<Form />);
		type("Guest", "Ada");
		type("Guest", "");
		fireEvent.click(screen.getByRole("switch"));
		fireEvent.click(screen.getByRole("button", { name: "Leave out" }));
		fireEvent.click(screen.getByRole("button", { name: "Add an item" }));
		fireEvent.click(screen.getByRole("button", { name: "Remove item 1" }));
		expect(draft.get().args).toEqual({ address: {} });
	});

	it("says what is wrong beside the field, once the field was left", () => {
		pickTool(tool);
		render(<Form />);
		type("Guest", "A");
		expect(screen.queryByText("Needs at least 2 characters.")).toBeNull();
		fireEvent.blur(screen.getByLabelText("Guest"));
		const input = screen.getByLabelText("Guest");
		const finding = screen.getByText("Needs at least 2 characters.");
		expect(input.getAttribute("aria-invalid")).toBe("true");
		expect(input.getAttribute("aria-describedby")).toContain(finding.id);
	});

	it("says everything after a try to run", () => {
		pickTool(tool);
		render(<Form tried />);
		expect(screen.getAllByText("Needed.")).toHaveLength(4);
		type("nights", "many");
		expect(screen.getByText("Must be a whole number.")).toBeDefined();
	});

	it("tells of JSON that does not parse, and keeps what was typed", () => {
		pickTool(tool);
		render(<Form />);
		type("extra", "{");
		expect(screen.getByRole("status").textContent).toBe("/extra");
		expect((screen.getByLabelText("extra") as HTMLTextAreaElement).value).toBe("{");
		type("extra", "{}");
		expect(screen.getByRole("status").textContent).toBe("");
		expect(draft.get().args.extra).toEqual({});
	});

	it("shows the same arguments as JSON", () => {
		pickTool(tool);
		draft.set((now) => ({ ...now, view: "json" }));
		render(<Form tried />);
		type("Arguments as JSON", '{"name":"Ada","nights":0,"room":"s","address":{"city":"X"}}');
		expect(draft.get().args.nights).toBe(0);
		expect(screen.getByText("nights")).toBeDefined();
		draft.set((now) => ({ ...now, view: "form" }));
	});
});
