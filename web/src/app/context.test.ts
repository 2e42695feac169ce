import { McpUiHostContextSchema } from "@modelcontextprotocol/ext-apps/app-bridge";
import { afterEach, expect, test } from "vitest";
import { hostContext, styleVariables } from "./context";

const tool = {
	server: "tour",
	name: "show",
	title: "Show",
	description: "Shows it",
	inputSchema: { type: "object", properties: { year: { type: "integer" } } },
	outputSchema: undefined as unknown,
	annotations: undefined,
};

afterEach(() => document.documentElement.removeAttribute("style"));

test("the context is one that apps accept", () => {
	const context = hostContext("dark", 640, tool);
	expect(McpUiHostContextSchema.safeParse(context).error).toBeUndefined();
	expect(context).toMatchObject({
		theme: "dark",
		platform: "web",
		displayMode: "inline",
		availableDisplayModes: ["inline"],
		containerDimensions: { width: 640, maxHeight: 800 },
		toolInfo: { tool: { name: "show", title: "Show", inputSchema: tool.inputSchema } },
	});
	expect(context.locale).toBeTruthy();
	expect(context.timeZone).toBeTruthy();
});

test.each([[undefined], [null], [true], ["object"], [[]], [{}], [{ type: "string" }], [{ anyOf: [] }]])(
	"a schema that apps would refuse is left out: %j",
	(schema) => {
		const context = hostContext("light", 0, { ...tool, inputSchema: schema, outputSchema: schema });
		expect(McpUiHostContextSchema.safeParse(context).error).toBeUndefined();
		expect(context.toolInfo?.tool.inputSchema).toEqual({ type: "object" });
		expect(context.toolInfo?.tool).not.toHaveProperty("outputSchema");
		expect(context.containerDimensions).not.toHaveProperty("width");
	},
);

test("the page's colours go by the names that apps know", () => {
	document.documentElement.style.setProperty("--surface", "#123456");
	document.documentElement.style.setProperty("--sans", "Test Sans");
	const styles = styleVariables();
	expect(styles["--color-background-primary"]).toBe("#123456");
	expect(styles["--font-sans"]).toBe("Test Sans");
	expect(styles["--color-text-primary"]).toBeUndefined();
});
