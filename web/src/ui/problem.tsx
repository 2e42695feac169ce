import type { ReactNode } from "react";
import type { Error as WireError } from "../api/types.gen";
import { Mark } from "./mark";

const phases: Record<string, string> = {
	config: "while reading its configuration",
	spawn: "while starting the server",
	probe: "while asking which protocol it speaks",
	handshake: "during the handshake",
	auth: "while logging in",
	list: "while listing what it offers",
	call: "during the call",
};

/** What went wrong, where, and what to do next. */
export function Problem({ error, children }: { error: WireError; children?: ReactNode }) {
	return (
		<div className="problem">
			<p className="problem-what">
				<Mark tone="bad" />
				<span>{error.message}</span>
			</p>
			{(error.phase || error.server) && (
				<p className="problem-where">
					{error.server && <b>{error.server}</b>}
					{error.phase && ` ${phases[error.phase] ?? `in phase ${error.phase}`}`}
					{error.code && <code>{error.code}</code>}
				</p>
			)}
			{error.hint && (
				<p className="problem-next">
					<b>Next:</b> {error.hint}
				</p>
			)}
			{error.stderr && (
				<details>
					<summary>The server's last words (stderr)</summary>
					<pre className="code">{error.stderr}</pre>
				</details>
			)}
			{children}
		</div>
	);
}

/** A place with nothing in it yet, and what would put something there. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
	return (
		<div className="empty">
			<p className="empty-title">{title}</p>
			{children}
		</div>
	);
}
