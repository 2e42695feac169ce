import { useEffect, useState } from "react";
import { api } from "../api/client";
import { wireError } from "../api/http";
import { isObject } from "../api/json";
import type { PromptResponse, ReadResponse, Error as WireError } from "../api/types.gen";
import { useStore } from "../store/store";
import { CopyButton } from "../ui/copy";
import { Dialog } from "../ui/dialog";
import { JsonView } from "../ui/jsonview";
import { Problem } from "../ui/problem";
import { ContentBlock, ResourceContents } from "./content";
import { type Peek, peek } from "./open";

/** Where peeks appear. */
export function PeekHost() {
	const now = useStore(peek, (value) => ({ value }));
	if (!now.value) return null;
	return <PeekDialog key={JSON.stringify(now.value)} peek={now.value} />;
}

type State =
	| { state: "reading" }
	| { state: "failed"; error: WireError }
	| { state: "read"; read: ReadResponse }
	| { state: "got"; prompt: PromptResponse };

function PeekDialog({ peek: what }: { peek: Peek }) {
	const [state, setState] = useState<State>({ state: "reading" });
	useEffect(() => {
		const gone = new AbortController();
		const run = async (): Promise<State> =>
			what.kind === "resource"
				? { state: "read", read: await api.read(what.request, gone.signal) }
				: { state: "got", prompt: await api.prompt(what.request, gone.signal) };
		run()
			.catch((cause): State => ({ state: "failed", error: wireError(cause) }))
			.then((next) => {
				if (!gone.signal.aborted) setState(next);
			});
		return () => gone.abort();
	}, [what]);

	const title = what.kind === "resource" ? what.request.uri : what.title;
	const raw = state.state === "read" ? state.read : state.state === "got" ? state.prompt : undefined;
	return (
		<Dialog
			wide
			title={title}
			onClose={() => peek.set(() => undefined)}
			footer={
				<>
					<span className="muted">
						{what.kind === "resource" ? "Resource" : "Prompt"} of {what.request.server}. Shown here only, not part of
						the session.
					</span>
					{raw && <CopyButton label="Copy JSON" text={() => JSON.stringify(raw, null, 2)} />}
				</>
			}
		>
			<div aria-live="polite">
				{state.state === "reading" && (
					<p className="muted">
						{what.kind === "resource" ? "Reading" : "Asking"} {what.request.server}…
					</p>
				)}
				{state.state === "failed" && <Problem error={state.error} />}
				{state.state === "read" && state.read.contents.length === 0 && <p className="muted">The resource is empty.</p>}
				{state.state === "read" &&
					state.read.contents.map((contents, i) =>
						isObject(contents) ? (
							// biome-ignore lint/suspicious/noArrayIndexKey: the list never changes.
							<ResourceContents key={i} contents={contents} />
						) : (
							// biome-ignore lint/suspicious/noArrayIndexKey: the list never changes.
							<JsonView key={i} value={contents} />
						),
					)}
				{state.state === "got" && <Messages server={what.request.server} prompt={state.prompt} />}
			</div>
		</Dialog>
	);
}

function Messages({ server, prompt }: { server: string; prompt: PromptResponse }) {
	return (
		<>
			{prompt.description && <p className="muted">{prompt.description}</p>}
			{prompt.messages.length === 0 && <p className="muted">The prompt has no messages.</p>}
			{prompt.messages.map((message, i) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: the list never changes.
				<section key={i} className="prompt-message">
					<h3>{isObject(message) && typeof message.role === "string" ? message.role : "message"}</h3>
					{isObject(message) && message.content !== undefined ? (
						(Array.isArray(message.content) ? message.content : [message.content]).map((block, j) => (
							// biome-ignore lint/suspicious/noArrayIndexKey: the list never changes.
							<ContentBlock key={j} server={server} block={block} />
						))
					) : (
						<JsonView value={message} />
					)}
				</section>
			))}
		</>
	);
}
