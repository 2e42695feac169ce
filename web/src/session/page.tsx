import { lazy, type RefObject, Suspense, useEffect, useMemo, useRef, useState } from "react";
import type { ModelStatus } from "../api/types.gen";
import { Bench } from "../bench/bench";
import { draft, pickTool } from "../bench/draft";
import type { PaletteFilter } from "../bench/palette";
import { host, pollHost } from "../catalog/host";
import { useModel } from "../store/auth";
import { hrefOf } from "../store/route";
import { createStore, type Store, useStore } from "../store/store";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";
import { Empty, Problem } from "../ui/problem";
import { waitingQuestions } from "./items";
import { type Log, openLog } from "./log";
import { deleteSession, renameSession, sessions } from "./sessions";
import { TranscriptView } from "./transcript";

const QuestionDock = lazy(() => import("../questions/dock"));
const Composer = lazy(() => import("../chat/composer"));

const none: Store<Log | undefined> = createStore<Log | undefined>(undefined);

/** A session, or the place where a new one begins with its first call. */
export function SessionPage(props: {
	id: string | undefined;
	railButton: React.ReactNode;
	main: RefObject<HTMLElement | null>;
	onPalette(filter: PaletteFilter): void;
}) {
	const { id } = props;
	const [store, setStore] = useState<Store<Log | undefined>>(none);
	useEffect(() => {
		if (!id) {
			setStore(none);
			return pollHost();
		}
		const { log, close } = openLog(id);
		setStore(log as Store<Log | undefined>);
		return () => {
			close();
			setStore(none);
		};
	}, [id]);
	const log = useStore(store, (now) => now);
	const listed = useStore(sessions, ({ all }) => all?.find((session) => session.id === id));
	const title = id ? log?.transcript.title || listed?.title || "Untitled session" : "New session";

	const model = useModel();
	const benched = useStore(draft, ({ pick }) => pick !== undefined);
	const transcript = log?.transcript;
	const questions = useMemo(() => (transcript ? waitingQuestions(transcript) : []), [transcript]);
	const asked = questions.length > 0;

	useEffect(() => {
		document.title = `${asked ? "◆ " : ""}${title} · Usher`;
	}, [title, asked]);

	return (
		<main ref={props.main} className="page session" id="main" tabIndex={-1}>
			<header className="page-head">
				{props.railButton}
				<Title id={id} title={title} />
				{log && log.transcript.running > 0 && !asked && (
					<span className="page-running">
						{log.transcript.running === 1 ? "1 call runs" : `${log.transcript.running} calls run`}
					</span>
				)}
			</header>
			{log && !log.connected && (
				<p className="reconnecting" role="status">
					Reconnecting to the daemon…
				</p>
			)}
			{!id && <Welcome model={model} onPalette={props.onPalette} />}
			{id && log?.phase === "loading" && <p className="page-quiet muted">Opening the session…</p>}
			{id && log?.phase === "missing" && (
				<Empty title="This session is gone.">
					<p>It was deleted, or the address is from another daemon.</p>
					<a className="button" href={hrefOf({ place: "session", id: undefined })}>
						Start a new session
					</a>
				</Empty>
			)}
			{id && log?.phase === "failed" && log.problem && (
				<div className="page-quiet">
					<Problem error={log.problem} />
				</div>
			)}
			{id && log?.phase === "ready" && log.transcript.items.length === 0 && (
				<Empty title="Nothing happened here yet.">
					<p>
						{model
							? `Write to ${model.name} below; what comes of it is kept here.`
							: "Choose a tool below and run it; what it does is kept here."}
					</p>
				</Empty>
			)}
			{id && log?.phase === "ready" && log.transcript.items.length > 0 && (
				<TranscriptView key={id} sessionId={id} log={log} />
			)}
			{questions.length > 0 && (
				<Suspense fallback={null}>
					<QuestionDock questions={questions} />
				</Suspense>
			)}
			{log?.phase !== "missing" &&
				(model && !benched ? (
					<Suspense fallback={<div className="composer composer-comes" />}>
						<Composer model={model} sessionId={id} transcript={log?.transcript} onPalette={props.onPalette} />
					</Suspense>
				) : (
					<Bench sessionId={id} model={model} onPalette={props.onPalette} />
				))}
		</main>
	);
}

function Title({ id, title }: { id: string | undefined; title: string }) {
	const [editing, setEditing] = useState(false);
	const input = useRef<HTMLInputElement>(null);
	useEffect(() => {
		if (editing) input.current?.select();
	}, [editing]);
	if (!id) return <h1>{title}</h1>;
	if (!editing) {
		return (
			<>
				<h1>{title}</h1>
				<Menu
					label="Menu of this session"
					entries={[
						{ label: "Rename", icon: "edit", run: () => setEditing(true) },
						{ label: "Delete", icon: "trash", danger: true, run: () => deleteSession(id, title) },
					]}
				/>
			</>
		);
	}
	const done = (keep: boolean) => {
		const next = input.current?.value.trim() ?? "";
		setEditing(false);
		if (keep && next !== "" && next !== title) void renameSession(id, next);
	};
	return (
		<form
			className="page-rename"
			onSubmit={(event) => {
				event.preventDefault();
				done(true);
			}}
		>
			<input
				ref={input}
				className="input"
				aria-label="Title of this session"
				defaultValue={title}
				maxLength={200}
				// biome-ignore lint/a11y/noAutofocus: the person asked to write here.
				autoFocus
				onBlur={() => done(true)}
				onKeyDown={(event) => {
					if (event.key === "Escape") done(false);
				}}
			/>
		</form>
	);
}

const offered = 6;

/** The first screen: what there is, and how to begin. */
function Welcome({ model, onPalette }: { model: ModelStatus | undefined; onPalette(filter: PaletteFilter): void }) {
	const { servers, catalog, problem } = useStore(host, (now) => now);
	const ready = servers?.filter((server) => server.state === "ready") ?? [];
	const withApp = (uri: string | undefined) => (uri ? 0 : 1);
	const tools = [...(catalog?.tools ?? [])].sort((a, b) => withApp(a.appUri) - withApp(b.appUri)).slice(0, offered);
	return (
		<div className="welcome">
			<div className="welcome-inside">
				<h2>{model ? `Ask ${model.name}, or run a tool` : "Run a tool"}</h2>
				{problem && !servers ? (
					<Problem error={problem} />
				) : !servers ? (
					<p className="muted">Asking the daemon for its servers…</p>
				) : servers.length === 0 ? (
					<p>
						No server is configured. Add one to <code>usher.json</code> and start <code>usher serve</code> again.
					</p>
				) : tools.length === 0 ? (
					<p>
						{ready.length === 0 ? "No server is ready yet. " : "The ready servers offer no tools. "}
						<a href={hrefOf({ place: "servers" })}>See how the servers stand.</a>
					</p>
				) : (
					<>
						<p>
							{catalog?.tools.length === 1 ? "One tool" : `${catalog?.tools.length.toLocaleString()} tools`} of{" "}
							{ready.length === 1 ? "one server" : `${ready.length} servers`} wait for you. The session begins with your
							first {model ? "message or call" : "call"}.
						</p>
						<ul className="welcome-tools">
							{tools.map((tool) => (
								<li key={`${tool.server} ${tool.name}`}>
									<button type="button" onClick={() => pickTool(tool)}>
										<Icon name="tool" />
										<span className="welcome-title">{tool.title || tool.name}</span>
										<span className="welcome-server">
											{tool.server}
											{tool.appUri && !tool.appProblem && " · app"}
										</span>
										<span className="welcome-about">{tool.description}</span>
									</button>
								</li>
							))}
						</ul>
						{(catalog?.tools.length ?? 0) > offered && (
							<button type="button" className="button-quiet" onClick={() => onPalette("tool")}>
								<Icon name="search" />
								All tools
							</button>
						)}
					</>
				)}
			</div>
		</div>
	);
}
