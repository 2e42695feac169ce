import {
	type KeyboardEvent,
	type RefObject,
	useEffect,
	useId,
	useLayoutEffect,
	useMemo,
	useRef,
	useState,
} from "react";
import { api } from "../api/client";
import { wireError } from "../api/http";
import type { ModelStatus, Error as WireError } from "../api/types.gen";
import { pickOther, pickTool } from "../bench/draft";
import type { PaletteFilter } from "../bench/palette";
import { type Entry, kindIcons } from "../bench/search";
import { host } from "../catalog/host";
import { readAttachments } from "../session/attachments";
import type { Transcript } from "../session/items";
import { createSession } from "../session/sessions";
import { noticeFailure } from "../store/auth";
import { go } from "../store/route";
import { useStore } from "../store/store";
import { toast } from "../store/toast";
import { elapsed } from "../ui/format";
import { Icon } from "../ui/icons";
import { Mark } from "../ui/mark";
import { Problem } from "../ui/problem";
import { ComposeError, insertText, message, promptText, withAttachments } from "./compose";
import { type Mention, mentionAt, mentionOf, suggest } from "./suggest";

/** Where a person writes to the model. */
export default function Composer(props: {
	model: ModelStatus;
	sessionId: string | undefined;
	transcript: Transcript | undefined;
	onPalette(filter: PaletteFilter): void;
}) {
	const { model, sessionId, transcript } = props;
	const text = useStore(message, (now) => now);
	const catalog = useStore(host, (now) => now.catalog);
	const [sending, setSending] = useState(false);
	const [error, setError] = useState<WireError | undefined>();
	const [caret, setCaret] = useState(0);
	const [closed, setClosed] = useState<number | undefined>();
	const [at, setAt] = useState(0);
	const history = useHistory(transcript);
	const box = useRef<HTMLTextAreaElement>(null);
	const caretTo = useRef<number | undefined>(undefined);
	const id = useId();
	const turn = transcript?.turn;

	const mention = useMemo(() => mentionAt(text, Math.min(caret, text.length)), [text, caret]);
	const offered = useMemo(
		() => (catalog && mention && mention.start !== closed ? suggest(catalog, mention) : []),
		[catalog, mention, closed],
	);
	const current = Math.min(at, Math.max(offered.length - 1, 0));

	// A text that was put in leaves the caret where the person goes on.
	useLayoutEffect(() => {
		if (caretTo.current === undefined) return;
		const to = caretTo.current;
		caretTo.current = undefined;
		box.current?.setSelectionRange(to, to);
		setCaret(to);
	});
	const put = (next: string, to = next.length) => {
		caretTo.current = to;
		message.set(() => next);
	};
	const cancel = useStop(sessionId, turn !== undefined);

	const send = async () => {
		if (sending || text.trim() === "") return;
		setSending(true);
		setError(undefined);
		try {
			const whole = await withAttachments(text, catalog);
			const to = sessionId ?? (await createSession("")).id;
			await api.message(to, whole);
			message.set((now) => (now === text ? "" : now));
			history.reset();
			if (!sessionId) go({ place: "session", id: to }, true);
		} catch (cause) {
			noticeFailure(cause);
			setError(cause instanceof ComposeError ? { code: "attachment", message: cause.message } : wireError(cause));
		} finally {
			setSending(false);
		}
	};
	const choose = async (entry: Entry | undefined, where: Mention) => {
		if (!entry) return;
		const without = text.slice(0, where.start) + text.slice(where.end);
		setClosed(undefined);
		setAt(0);
		const { kind, server, id: name } = entry;
		if (kind === "resource") {
			const word = `${mentionOf(entry)} `;
			put(text.slice(0, where.start) + word + text.slice(where.end), where.start + word.length);
			return;
		}
		put(without, where.start);
		const tool = kind === "tool" && catalog?.tools.find((one) => one.server === server && one.name === name);
		const prompt = kind === "prompt" && catalog?.prompts.find((one) => one.server === server && one.name === name);
		if (tool) pickTool(tool);
		else if (prompt && prompt.arguments.length === 0) {
			try {
				insertText(promptText(await api.prompt({ server, name })));
				caretTo.current = message.get().length;
			} catch (cause) {
				setError(wireError(cause));
			}
		} else if (kind !== "tool") pickOther({ kind, server, name });
		if (tool || (prompt && prompt.arguments.length > 0) || kind === "template") focusBench();
	};
	const key = (event: KeyboardEvent<HTMLTextAreaElement>) => {
		if (event.nativeEvent.isComposing) return;
		const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
		if (offered.length > 0 && mention && plain) {
			const to = { ArrowDown: current + 1, ArrowUp: current - 1 }[event.key];
			if (to !== undefined) setAt((to + offered.length) % offered.length);
			else if (event.key === "Enter" || event.key === "Tab") void choose(offered[current], mention);
			else if (event.key === "Escape") setClosed(mention.start);
			else return;
			event.preventDefault();
			return;
		}
		if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
			event.preventDefault();
			void send();
			return;
		}
		if (!plain) return;
		const field = event.currentTarget;
		const older = event.key === "ArrowUp" && field.selectionEnd === 0;
		const newer = event.key === "ArrowDown" && field.selectionStart === text.length;
		if (!older && !newer) return;
		const next = older ? history.older(text) : history.newer();
		if (next === undefined) return;
		event.preventDefault();
		// The caret stays where the same key goes on.
		put(next, older ? 0 : next.length);
	};

	return (
		<form
			className="composer"
			aria-label="Message"
			onSubmit={(event) => {
				event.preventDefault();
				void send();
			}}
		>
			{error && <Problem error={error} />}
			{offered.length > 0 && mention && (
				<div
					className="suggest"
					role="listbox"
					id={`${id}-list`}
					aria-label={mention.sign === "/" ? "Prompts and tools" : "Resources"}
				>
					{offered.map((entry, i) => (
						// biome-ignore lint/a11y/useKeyWithClickEvents: the message box holds the keys of this list.
						<div
							key={entry.key}
							id={`${id}-${i}`}
							role="option"
							aria-selected={i === current}
							tabIndex={-1}
							className="palette-row"
							onMouseDown={(event) => event.preventDefault()}
							onClick={() => void choose(entry, mention)}
							onMouseMove={() => setAt(i)}
						>
							<Icon name={kindIcons[entry.kind]} />
							<span className="palette-title">{entry.title}</span>
							<span className="palette-server">
								{entry.server} · {entry.kind}
							</span>
							<span className="palette-about">{entry.description || entry.id}</span>
						</div>
					))}
				</div>
			)}
			<textarea
				ref={box}
				className="composer-text"
				rows={1}
				aria-label={`Message to ${model.name}`}
				aria-controls={offered.length > 0 ? `${id}-list` : undefined}
				aria-activedescendant={offered.length > 0 ? `${id}-${current}` : undefined}
				placeholder={turn ? "Say more; it is told with the next step" : `Message ${model.name}`}
				value={text}
				onChange={(event) => {
					message.set(() => event.currentTarget.value);
					setCaret(event.currentTarget.selectionEnd);
					setAt(0);
					if (event.currentTarget.value === "") setClosed(undefined);
				}}
				onSelect={(event) => setCaret(event.currentTarget.selectionEnd)}
				onKeyDown={key}
			/>
			<div className="composer-foot">
				{turn ? (
					<TurnStatus key={turn.turnId} startedAt={turn.startedAt} step={turn.step} asks={asks(transcript)} />
				) : (
					<span className="composer-hint">
						<kbd>/</kbd> prompts and tools <kbd>@</kbd> resources
					</span>
				)}
				<span className="bench-space" />
				<button
					type="button"
					className="button-icon"
					aria-label="Run a tool yourself"
					title="Run a tool yourself (Ctrl+K)"
					onClick={() => props.onPalette("tool")}
				>
					<Icon name="tool" />
				</button>
				{turn && (
					<button type="button" className="button" disabled={cancel.busy} title="Esc" onClick={() => void cancel.run()}>
						<Icon name="stop" />
						{cancel.busy ? "Stopping…" : "Stop"}
					</button>
				)}
				{(!turn || text.trim() !== "") && (
					<button type="submit" className="button primary" disabled={sending || text.trim() === ""} title="Enter">
						{sending ? "Sending…" : "Send"}
					</button>
				)}
			</div>
		</form>
	);
}

function asks(transcript: Transcript | undefined): boolean {
	return (transcript?.waiting.length ?? 0) > 0;
}

function TurnStatus(props: { startedAt: string; step: number; asks: boolean }) {
	const [now, setNow] = useState(() => Date.now());
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 1000);
		return () => clearInterval(timer);
	}, []);
	return (
		<span className="composer-turn">
			<Mark tone={props.asks ? "ask" : "busy"} />
			{props.asks ? "Waits for you" : "Working"}
			{props.step > 1 && <span className="composer-step">step {props.step}</span>}
			<span>{elapsed(now - new Date(props.startedAt).getTime())}</span>
		</span>
	);
}

/** Ends the model's turn, by a button or by Esc wherever it means nothing else. */
function useStop(sessionId: string | undefined, running: boolean): { busy: boolean; run(): Promise<void> } {
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		if (!running) setBusy(false);
	}, [running]);
	const run = async () => {
		if (!sessionId || busy) return;
		setBusy(true);
		try {
			await api.cancel(sessionId);
		} catch (cause) {
			setBusy(false);
			toast(wireError(cause).message, { tone: "error" });
		}
	};
	const latest: RefObject<() => Promise<void>> = useRef(run);
	latest.current = run;
	useEffect(() => {
		if (!running) return;
		const key = (event: globalThis.KeyboardEvent) => {
			if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
			if (document.querySelector("dialog[open], :popover-open, .shell-drawer")) return;
			const target = event.target as HTMLElement;
			if (target.closest("input:not([type=checkbox]), select, textarea:not(.composer-text)")) return;
			event.preventDefault();
			void latest.current();
		};
		addEventListener("keydown", key);
		return () => removeEventListener("keydown", key);
	}, [running]);
	return { busy, run };
}

/** What the person wrote in this session, to write it again. */
function useHistory(transcript: Transcript | undefined) {
	const place = useRef(0);
	const kept = useRef("");
	const said = () => {
		const all = (transcript?.items ?? []).flatMap((item) =>
			item.kind === "message" ? [readAttachments(item.text).said] : [],
		);
		return all.filter((text, i) => text !== "" && text !== all[i - 1]);
	};
	return {
		older(now: string): string | undefined {
			const all = said();
			if (place.current >= all.length) return undefined;
			if (place.current === 0) kept.current = now;
			place.current++;
			return all.at(-place.current);
		},
		newer(): string | undefined {
			if (place.current === 0) return undefined;
			place.current--;
			return place.current === 0 ? kept.current : said().at(-place.current);
		},
		reset() {
			place.current = 0;
		},
	};
}

function focusBench(): void {
	requestAnimationFrame(() =>
		requestAnimationFrame(() =>
			document
				.querySelector<HTMLElement>(".bench-body input, .bench-body textarea, .bench-body select, .bench .primary")
				?.focus(),
		),
	);
}
