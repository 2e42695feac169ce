import { lazy, Suspense, useEffect, useId, useState } from "react";
import { api } from "../api/client";
import { wireError } from "../api/http";
import { isObject, pretty } from "../api/json";
import { pickCall } from "../bench/draft";
import { ContentBlock } from "../content/content";
import { toast } from "../store/toast";
import { CopyButton } from "../ui/copy";
import { bytes, clockTime, duration, elapsed, exactTime } from "../ui/format";
import { Icon } from "../ui/icons";
import { Code, JsonView } from "../ui/jsonview";
import { Mark, type Tone } from "../ui/mark";
import { Problem } from "../ui/problem";
import { Tabs } from "../ui/tabs";
import type { CallItem } from "./items";

const AppCard = lazy(() => import("./appcard"));

/** How a call stands, in a sign and a word. */
export function outcomeOf(call: CallItem): { tone: Tone; word: string } {
	switch (call.finished?.outcome) {
		case undefined:
			if (call.asking > 0) return { tone: "ask", word: "Waits for your answer" };
			return { tone: "busy", word: call.startedAt ? "Running" : "Waiting" };
		case "result":
			return { tone: "good", word: "Done" };
		case "tool_error":
			return { tone: "warn", word: "Tool error" };
		case "denied":
			return { tone: "off", word: "Denied" };
		case "cancelled":
			return { tone: "off", word: "Cancelled" };
		case "unknown":
			return { tone: "ask", word: "Outcome unknown" };
		default:
			return { tone: "bad", word: "Failed" };
	}
}

/** One tool call in the transcript. An app stands alone; everything else is a line that opens. */
export function CallCard(props: { sessionId: string; call: CallItem; openAtFirst: boolean }) {
	const { call, sessionId } = props;
	const display = call.finished?.display;
	if (display?.type === "mcp_app" && display.html !== "") {
		return (
			<Suspense fallback={<p className="card card-line muted">Opening the app of {call.server}…</p>}>
				<AppCard call={call} display={display}>
					<CallDetails call={call} />
				</AppCard>
			</Suspense>
		);
	}
	return <PlainCard call={call} sessionId={sessionId} openAtFirst={props.openAtFirst} />;
}

function PlainCard({ call, sessionId, openAtFirst }: { call: CallItem; sessionId: string; openAtFirst: boolean }) {
	const [toggled, setToggled] = useState<boolean | undefined>();
	const { tone, word } = outcomeOf(call);
	// What the model runs is on the way to its answer; what a person runs is what they want to see.
	const open = toggled ?? (openAtFirst && call.by !== "model");
	const body = useId();
	const finished = call.finished;
	const text = finished?.error?.message ?? finished?.display?.fallbackText ?? "";
	return (
		<article
			className={`card card-${tone}`}
			aria-label={`${call.server ? `${call.server}, ` : ""}${call.title || call.tool}: ${word}`}
		>
			<div className="card-line">
				<button
					type="button"
					className="card-toggle"
					aria-expanded={open}
					aria-controls={body}
					onClick={() => setToggled(!open)}
				>
					<Icon name="chevron" />
					<Mark tone={tone} />
					{call.server && <span className="card-server">{call.server}</span>}
					<span className="card-tool">{call.title || call.tool}</span>
					{!open && finished && <span className="card-glimpse">{glimpse(text)}</span>}
				</button>
				<span className="card-facts">
					{finished ? (
						<>
							<span className={`card-word tone-${tone}`}>{word}</span>
							<span className="card-number">{duration(finished.durationMs)}</span>
						</>
					) : (
						<Elapsed call={call} />
					)}
					<time dateTime={call.requestedAt} title={exactTime(call.requestedAt)}>
						{clockTime(call.requestedAt)}
					</time>
				</span>
			</div>
			{!finished && <Running call={call} sessionId={sessionId} />}
			{finished?.display?.problem && (
				<p className="card-warning" role="note">
					<Mark tone="warn" /> The app is not shown: {finished.display.problem}
				</p>
			)}
			{finished?.display?.type === "mcp_app" && (
				<p className="card-warning muted">The app of this call was put away to save room; its text stands.</p>
			)}
			<div id={body} className="card-body" hidden={!open}>
				{open && <CallDetails call={call} />}
			</div>
		</article>
	);
}

/** The first words of a text, without the signs that Markdown would draw. */
function glimpse(text: string): string {
	return text
		.slice(0, 400)
		.replace(/[#*`|>_~-]{2,}|[#*`|>]/g, " ")
		.replace(/\s+/g, " ")
		.trim()
		.slice(0, 160);
}

function Elapsed({ call }: { call: CallItem }) {
	const [now, setNow] = useState(() => Date.now());
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 1000);
		return () => clearInterval(timer);
	}, []);
	const since = new Date(call.startedAt ?? call.requestedAt).getTime();
	return <span className="card-number">{elapsed(now - since)}</span>;
}

function Running({ call, sessionId }: { call: CallItem; sessionId: string }) {
	const [cancelling, setCancelling] = useState(false);
	const progress = call.progress;
	const total = progress?.total;
	// What waits for a person makes no progress, and shows none.
	const waits = call.asking > 0;
	const known = progress !== undefined && total !== undefined && total > 0;
	const label = waits
		? "Waits for your answer"
		: (progress?.message ?? (call.startedAt ? "Running" : "Waiting for the server"));
	const cancel = async () => {
		setCancelling(true);
		try {
			await api.cancel(sessionId, call.callId);
		} catch (cause) {
			setCancelling(false);
			toast(wireError(cause).message, { tone: "error" });
		}
	};
	return (
		<div className="running">
			<progress
				hidden={waits}
				aria-label={label}
				{...(known ? { value: Math.min(progress.progress, total), max: total } : {})}
			/>
			<div className="running-line">
				<span className="running-message">{label}</span>
				{progress && (
					<span className="card-number">
						{known ? `${trim(progress.progress)} of ${trim(total)}` : trim(progress.progress)}
					</span>
				)}
				<button type="button" className="button" disabled={cancelling} onClick={() => void cancel()}>
					<Icon name="stop" />
					{cancelling ? "Cancelling…" : "Cancel"}
				</button>
			</div>
		</div>
	);
}

function trim(n: number): string {
	return n.toLocaleString(undefined, { maximumFractionDigits: 2 });
}

type Part = "output" | "arguments" | "raw";

/** What went in and what came out. */
export function CallDetails({ call }: { call: CallItem }) {
	// Until the person chooses, the output shows as soon as there is one.
	const [part, setPart] = useState<Part>("output");
	const finished = call.finished;
	const tabs: { key: Part; label: string }[] = [
		...(finished ? [{ key: "output" as const, label: "Output" }] : []),
		{ key: "arguments", label: "Arguments" },
		...(finished ? [{ key: "raw" as const, label: "Raw" }] : []),
	];
	const shown = tabs.some((tab) => tab.key === part) ? part : "arguments";
	const raw = () => pretty({ request: { name: call.tool, arguments: call.arguments }, ...finished });
	return (
		<Tabs<Part>
			label="Parts of this call"
			tabs={tabs}
			selected={shown}
			onSelect={setPart}
			aside={
				<span className="card-actions">
					<CopyButton
						text={shown === "arguments" ? () => pretty(call.arguments) : shown === "raw" ? raw : () => outputText(call)}
					/>
					<button
						type="button"
						className="button-quiet"
						onClick={() => {
							pickCall(call.server, call.tool, call.arguments);
							requestAnimationFrame(() =>
								document.querySelector<HTMLElement>(".bench input, .bench textarea, .bench button")?.focus(),
							);
						}}
					>
						<Icon name="edit" />
						Edit and run again
					</button>
				</span>
			}
		>
			{shown === "output" && <Output call={call} />}
			{shown === "arguments" && (
				<>
					<JsonView value={call.arguments ?? {}} />
					{call.decided?.allowed && <p className="card-decided muted">{call.decided.reason}</p>}
				</>
			)}
			{shown === "raw" && <Code text={raw()} wrap={false} />}
		</Tabs>
	);
}

function Output({ call }: { call: CallItem }) {
	const finished = call.finished;
	const result = finished?.result;
	const content = isObject(result) && Array.isArray(result.content) ? result.content : [];
	const structured = isObject(result) ? result.structuredContent : undefined;
	// Servers that send structured content repeat it as text for older clients; once is enough.
	const blocks = structured === undefined ? content : content.filter((block) => !repeats(block, structured));
	return (
		<div className="output">
			{call.decided && !call.decided.allowed && (
				<p>
					It did not run. {call.decided.reason}
					{call.decided.rule && (
						<>
							{" "}
							Rule: <code>{call.decided.rule}</code>
						</>
					)}
				</p>
			)}
			{finished?.error && call.decided?.allowed !== false && <Problem error={finished.error} />}
			{finished?.outcome === "unknown" && !finished.error && (
				<p>
					The connection went away before the answer. The tool may have done its work; look before running it again.
				</p>
			)}
			{finished?.warnings?.map((warning) => (
				<p key={warning} className="card-warning">
					<Mark tone="warn" /> {warning}
				</p>
			))}
			{blocks.map((block, i) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: a result never changes.
				<ContentBlock key={i} server={call.server} block={block} />
			))}
			{structured !== undefined && (
				<section className="structured" aria-label="Structured content">
					<h3>Structured content</h3>
					<JsonView value={structured} />
				</section>
			)}
			{finished?.outputBytes !== undefined && finished.outputBytes > 0 && (
				<p className="muted">This is the beginning of {bytes(finished.outputBytes)} of text; the model can read on.</p>
			)}
			{content.length === 0 && structured === undefined && !finished?.error && finished?.outcome === "result" && (
				<p className="muted">The tool answered without content.</p>
			)}
		</div>
	);
}

function repeats(block: unknown, structured: unknown): boolean {
	if (!isObject(block) || block.type !== "text" || typeof block.text !== "string") return false;
	try {
		return JSON.stringify(JSON.parse(block.text)) === JSON.stringify(structured);
	} catch {
		return false;
	}
}

function outputText(call: CallItem): string {
	const finished = call.finished;
	if (finished?.error) return pretty(finished.error);
	const result = finished?.result;
	const content = isObject(result) && Array.isArray(result.content) ? result.content : [];
	const texts = content.flatMap((block) => (isObject(block) && typeof block.text === "string" ? [block.text] : []));
	return texts.length > 0 ? texts.join("\n") : pretty(result);
}
