import type { McpUiHostContext, McpUiStyles } from "@modelcontextprotocol/ext-apps/app-bridge";
import { heights } from "./height";
import type { AppViewProps } from "./view";

/** The page's own custom properties under the names that apps know. */
const variables: Record<string, string> = {
	"--color-background-primary": "--surface",
	"--color-background-secondary": "--sunken",
	"--color-background-tertiary": "--bg",
	"--color-background-inverse": "--text",
	"--color-background-info": "--accent-soft",
	"--color-background-danger": "--bad-soft",
	"--color-background-success": "--accent-soft",
	"--color-background-warning": "--warn-soft",
	"--color-background-disabled": "--sunken",
	"--color-text-primary": "--text",
	"--color-text-secondary": "--muted",
	"--color-text-tertiary": "--muted",
	"--color-text-inverse": "--surface",
	"--color-text-info": "--ask",
	"--color-text-danger": "--bad",
	"--color-text-success": "--good",
	"--color-text-warning": "--warn",
	"--color-text-disabled": "--off",
	"--color-border-primary": "--line",
	"--color-border-secondary": "--line",
	"--color-border-tertiary": "--line",
	"--color-border-info": "--ask",
	"--color-border-danger": "--bad",
	"--color-border-success": "--good",
	"--color-border-warning": "--warn",
	"--color-ring-primary": "--accent",
	"--color-ring-danger": "--bad",
	"--font-sans": "--sans",
	"--font-mono": "--mono",
	"--border-radius-md": "--radius",
	"--shadow-md": "--shadow",
};

const fixed: Record<string, string> = {
	"--color-background-ghost": "transparent",
	"--border-width-regular": "1px",
	"--border-radius-sm": "4px",
	"--border-radius-full": "999px",
	"--font-weight-normal": "400",
	"--font-weight-medium": "500",
	"--font-weight-semibold": "600",
	"--font-weight-bold": "700",
	"--font-text-sm-size": "13px",
	"--font-text-md-size": "14px",
};

/** The page's look, read from what it computes now. */
export function styleVariables(root: Element = document.documentElement): McpUiStyles {
	const computed = getComputedStyle(root);
	const found: Record<string, string> = { ...fixed };
	for (const [name, own] of Object.entries(variables)) {
		const value = computed.getPropertyValue(own).trim();
		if (value !== "") found[name] = value;
	}
	return found as McpUiStyles;
}

/** What an app is told about where it is. */
export function hostContext(theme: AppViewProps["theme"], width: number, tool: AppViewProps["tool"]): McpUiHostContext {
	const touch = matchMedia("(pointer: coarse)").matches;
	return {
		theme,
		styles: { variables: styleVariables() },
		displayMode: "inline",
		availableDisplayModes: ["inline"],
		containerDimensions: { ...(width > 0 ? { width } : {}), maxHeight: heights.most },
		locale: navigator.language,
		timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
		platform: "web",
		deviceCapabilities: { touch, hover: matchMedia("(hover: hover)").matches },
		toolInfo: { tool: describeTool(tool) },
	};
}

type ToolInfo = NonNullable<McpUiHostContext["toolInfo"]>["tool"];

/** Apps check the whole context at once and refuse it for one bad schema, so only what is surely right goes in. */
function describeTool(tool: AppViewProps["tool"]): ToolInfo {
	return {
		name: tool.name,
		...(tool.title === "" ? {} : { title: tool.title }),
		...(tool.description === undefined ? {} : { description: tool.description }),
		inputSchema: objectSchema(tool.inputSchema) ?? { type: "object" },
		...(objectSchema(tool.outputSchema) ? { outputSchema: objectSchema(tool.outputSchema) } : {}),
	} as ToolInfo;
}

function objectSchema(schema: unknown): ToolInfo["inputSchema"] | undefined {
	if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return undefined;
	// A copy of plain values: numbers kept as written do not cross a frame's border.
	const plain = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
	return plain.type === "object" ? (plain as ToolInfo["inputSchema"]) : undefined;
}
