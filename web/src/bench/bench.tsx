import { useCallback, useId, useRef, useState } from "react";
import { api } from "../api/client";
import { wireError } from "../api/http";
import { isObject } from "../api/json";
import type { ModelStatus, PromptRequest, ReadRequest, Tool, Error as WireError } from "../api/types.gen";
import { host } from "../catalog/host";
import { insertText, promptText } from "../chat/compose";
import { mentionOf } from "../chat/suggest";
import type { Findings } from "../schema/validate";
import { createSession } from "../session/sessions";
import { noticeFailure } from "../store/auth";
import { go } from "../store/route";
import { useStore } from "../store/store";
import { Icon } from "../ui/icons";
import { Mark } from "../ui/mark";
import { Problem } from "../ui/problem";
import { argumentsText, draft as draftStore, putAway } from "./draft";
import type { PaletteFilter } from "./palette";
import { PromptForm, TemplateForm } from "./textargs";
import { ToolForm, useFindings } from "./toolform";

/**
 * Where a person chooses a tool, fills its form and runs it. Without a model it is the composer; with one it
 * stands in the composer's place until it is put away.
 */
export function Bench(props: {
	sessionId: string | undefined;
	model: ModelStatus | undefined;
	onPalette(filter: PaletteFilter): void;
}) {
	const draft = useStore(draftStore, (now) => now);
	const { catalog, servers } = useStore(host, ({ catalog, servers }) => ({ catalog, servers }));
	const formId = useId();
	const [problem, setProblem] = useState<WireError | undefined>();
	const pick = draft.pick;
	const server = servers?.find((one) => one.name === pick?.server);

	const insert = (text: string) => {
		putAway();
		insertText(text);
		requestAnimationFrame(() => document.querySelector<HTMLElement>(".composer-text")?.focus());
	};
	const insertPrompt = async (request: PromptRequest) => {
		try {
			insert(promptText(await api.prompt(request)));
		} catch (cause) {
			noticeFailure(cause);
			setProblem(wireError(cause));
		}
	};
	const insertResource = ({ server, uri }: ReadRequest) =>
		insert(`${mentionOf({ kind: "resource", server, id: uri })} `);

	if (!pick) {
		return (
			<section className="bench bench-empty" aria-label="Tool bench">
				<button type="button" className="bench-choose" onClick={() => props.onPalette("all")}>
					<Icon name="search" />
					<span>Choose a tool to run</span>
					<kbd>/</kbd>
				</button>
				<p className="bench-note">
					No model is connected, so you run the tools yourself. <kbd>/</kbd> finds tools and prompts, <kbd>@</kbd>{" "}
					resources.
				</p>
			</section>
		);
	}
	const tool =
		pick.kind === "tool" ? catalog?.tools.find((t) => t.server === pick.server && t.name === pick.name) : undefined;
	const prompt =
		pick.kind === "prompt" ? catalog?.prompts.find((p) => p.server === pick.server && p.name === pick.name) : undefined;
	const template =
		pick.kind === "template"
			? catalog?.templates.find((t) => t.server === pick.server && t.uriTemplate === pick.name)
			: undefined;

	if (tool) {
		return (
			<ToolBench
				key={`${tool.server} ${tool.name}`}
				tool={tool}
				sessionId={props.sessionId}
				onPalette={props.onPalette}
			/>
		);
	}
	const known = prompt ?? template;
	return (
		<section className="bench" aria-label="Tool bench">
			<BenchHead
				server={pick.server}
				title={known?.title || pick.name}
				description={known?.description ?? ""}
				onPalette={props.onPalette}
			/>
			<div className="bench-body" hidden={draft.folded}>
				{prompt && (
					<PromptForm
						prompt={prompt}
						server={server}
						draft={draft}
						formId={formId}
						onInsert={props.model ? insertPrompt : undefined}
					/>
				)}
				{template && (
					<TemplateForm
						template={template}
						server={server}
						draft={draft}
						formId={formId}
						onInsert={props.model ? insertResource : undefined}
					/>
				)}
				{!known && (
					<p className="muted">
						{catalog
							? `${pick.server} does not offer this ${pick.kind} now${server ? ` (it is ${server.state.replace("_", " ")})` : ""}.`
							: "Fetching the catalog…"}
					</p>
				)}
			</div>
			{problem && <Problem error={problem} />}
			{known && (
				<div className="bench-foot">
					<span className="bench-space" />
					<button type="submit" form={formId} className="button primary">
						{props.model ? "Put into the message" : prompt ? "Show messages" : "Read"}
					</button>
				</div>
			)}
		</section>
	);
}

function BenchHead(props: {
	server: string;
	title: string;
	description: string;
	onPalette(filter: PaletteFilter): void;
	children?: React.ReactNode;
}) {
	const folded = useStore(draftStore, (now) => now.folded);
	return (
		<div className="bench-head">
			<button
				type="button"
				className="bench-pick"
				aria-haspopup="dialog"
				title="Choose another"
				onClick={() => props.onPalette("all")}
			>
				<span className="bench-server">{props.server}</span>
				<span className="bench-title">{props.title}</span>
			</button>
			{props.children}
			<button
				type="button"
				className="button-icon bench-fold"
				aria-label="Arguments"
				aria-expanded={!folded}
				title={folded ? "Show the arguments" : "Fold the arguments away"}
				onClick={() => draftStore.set((now) => ({ ...now, folded: !now.folded }))}
			>
				<Icon name="chevron" />
			</button>
			<button type="button" className="button-icon" aria-label="Put away" onClick={putAway}>
				<Icon name="close" />
			</button>
			{props.description && !folded && <p className="bench-about">{props.description}</p>}
		</div>
	);
}

function ToolBench(props: { tool: Tool; sessionId: string | undefined; onPalette(filter: PaletteFilter): void }) {
	const { tool, sessionId } = props;
	const draft = useStore(draftStore, (now) => now);
	const findings = useFindings(tool, draft);
	const [tried, setTried] = useState(false);
	const [broken, setBroken] = useState<Findings>(new Map());
	const [sending, setSending] = useState(false);
	const [error, setError] = useState<WireError | undefined>();
	const noteBroken = useCallback((path: string, message: string | undefined) => {
		setBroken((now) => {
			if (now.get(path) === message) return now;
			const next = new Map(now);
			if (message === undefined) next.delete(path);
			else next.set(path, message);
			return next;
		});
	}, []);
	const box = useRef<HTMLDivElement>(null);
	const wrong = draft.problem !== undefined || broken.size > 0;
	const attention = findings.size + broken.size;

	const run = useCallback(
		async (anyway: boolean) => {
			if (sending) return;
			setTried(true);
			if (wrong || (findings.size > 0 && !anyway)) {
				draftStore.set((now) => ({ ...now, folded: false }));
				// The field that needs attention is where the person should be.
				requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
				return;
			}
			setSending(true);
			setError(undefined);
			try {
				const id = sessionId ?? (await createSession(tool.title || tool.name)).id;
				await api.call(id, { server: tool.server, tool: tool.name, argumentsText: argumentsText(draft) });
				setTried(false);
				if (!sessionId) go({ place: "session", id }, true);
			} catch (cause) {
				noticeFailure(cause);
				setError(wireError(cause));
			} finally {
				setSending(false);
			}
		},
		[sending, wrong, findings, sessionId, tool, draft],
	);

	return (
		<form
			className="bench"
			aria-label="Tool bench"
			noValidate
			onSubmit={(event) => {
				event.preventDefault();
				void run(false);
			}}
			onKeyDown={(event) => {
				if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
					event.preventDefault();
					void run(false);
				}
			}}
		>
			<BenchHead
				server={tool.server}
				title={tool.title || tool.name}
				description={tool.description ?? ""}
				onPalette={props.onPalette}
			>
				<div className="segmented" role="group" aria-label="Arguments as">
					{(["form", "json"] as const).map((view) => (
						<button
							key={view}
							type="button"
							aria-pressed={draft.view === view}
							onClick={() => draftStore.set((now) => ({ ...now, view }))}
						>
							{view === "form" ? "Form" : "JSON"}
						</button>
					))}
				</div>
			</BenchHead>
			<div className="bench-body" hidden={draft.folded}>
				<ToolForm tool={tool} draft={draft} findings={findings} tried={tried} onBroken={noteBroken} box={box} />
				{tool.appProblem && (
					<p className="bench-warning">
						<Mark tone="warn" /> Its app will not be shown: {tool.appProblem}
					</p>
				)}
			</div>
			{error && <Problem error={error} />}
			<div className="bench-foot">
				<Claims tool={tool} />
				<span className="bench-space" />
				{tried && attention > 0 && (
					<span className="bench-attention" role="status">
						{attention === 1 ? "One thing needs attention." : `${attention} things need attention.`}
					</span>
				)}
				{tried && !wrong && findings.size > 0 && (
					<button type="button" className="button-quiet" onClick={() => void run(true)}>
						Run anyway
					</button>
				)}
				<button type="submit" className="button primary" disabled={sending} title="Ctrl+Enter">
					<Icon name="play" />
					{sending ? "Sending…" : "Run"}
				</button>
			</div>
		</form>
	);
}

/** What a server says of its tool. Nobody checked it, and the words say so. */
function Claims({ tool }: { tool: Tool }) {
	const hints = isObject(tool.annotations) ? tool.annotations : {};
	const words = [
		tool.appUri && !tool.appProblem && "draws an app",
		hints.readOnlyHint === true && "only reads",
		hints.readOnlyHint !== true && hints.destructiveHint === true && "may destroy",
		hints.idempotentHint === true && "may be repeated",
		hints.openWorldHint === true && "reaches the outside",
	].filter(Boolean);
	if (words.length === 0) return null;
	return <span className="bench-claims">The server says it {words.join(", ")}.</span>;
}
