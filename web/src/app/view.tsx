import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { api } from "../api/client";
import type { Display } from "../api/types.gen";
import { hostContext } from "./context";
import { type AppFrame, openFrame } from "./frame";
import { sandboxAddress } from "./sandbox";

/** What an app needs to be drawn. */
export interface AppViewProps {
	display: Display;
	/** The arguments of the call; {} when there were none. */
	toolInput: unknown;
	/** The CallToolResult as sent. */
	toolResult: unknown;
	tool: {
		server: string;
		name: string;
		title: string;
		description: string | undefined;
		inputSchema: unknown;
		outputSchema: unknown;
		annotations: unknown;
	};
	theme: "light" | "dark";
	/** Called once, with one sentence for the person, when the app cannot be shown. */
	onProblem(reason: string): void;
}

/**
 * Draws an app in its sandbox. The frame lives as long as what it shows stays the same: a log that is folded again,
 * a new theme, another width and other functions leave it alone.
 */
export function AppView(props: AppViewProps) {
	const { display, toolInput, toolResult, theme } = props;
	const place = useRef<HTMLDivElement>(null);
	const frame = useRef<AppFrame | undefined>(undefined);
	const latest = useRef(props);
	useLayoutEffect(() => {
		latest.current = props;
	});
	// Values that say the same are the same app, wherever they were parsed.
	const app = useMemo(
		() => JSON.stringify([display.server, display.resourceUri, display.csp, display.html, toolInput, toolResult]),
		[display, toolInput, toolResult],
	);

	// A layout effect ends before its elements leave the page, which is when a frame can still be parked.
	useLayoutEffect(() => {
		const box = place.current;
		if (!box) return;
		const [, , csp, html, input, result] = JSON.parse(app) as unknown[];
		const now = latest.current;
		if (typeof html !== "string" || html === "") {
			now.onProblem("its page was put away to save room");
			return;
		}
		const opened = openFrame({
			place: box,
			title: `App of ${now.tool.server}: ${now.tool.title || now.tool.name}`,
			html,
			csp,
			input: record(input) ?? {},
			result: record(result),
			theme: now.theme,
			sandbox: findSandbox(csp),
			context: () => hostContext(latest.current.theme, box.clientWidth, latest.current.tool),
			onProblem: (reason) => latest.current.onProblem(reason),
		});
		frame.current = opened;
		return () => {
			frame.current = undefined;
			opened.close();
		};
	}, [app]);

	useEffect(() => frame.current?.update(theme), [theme]);

	return <div ref={place} className="app-stage" />;
}

async function findSandbox(csp: unknown): Promise<{ url: string; readySeconds: number }> {
	const status = await api.status();
	const found = sandboxAddress(location, status.sandboxSwap, csp);
	if ("problem" in found) throw new Error(found.problem);
	return { url: found.url, readySeconds: status.appReadyMs / 1000 };
}

function record(value: unknown): Record<string, unknown> | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value)
		? (value as Record<string, unknown>)
		: undefined;
}
