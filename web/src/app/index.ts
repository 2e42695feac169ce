import { useEffect } from "react";
import type { Display } from "../api/types.gen";

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

/** Draws an app. This build has no host for apps yet, and says so. */
export function AppView({ onProblem }: AppViewProps) {
	useEffect(() => onProblem("This build cannot draw apps."), [onProblem]);
	return null;
}
