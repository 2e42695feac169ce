import { lazy, Suspense, useMemo } from "react";
import { TextBlock } from "../content/text";
import { clockTime, count, duration, exactTime } from "../ui/format";
import { Mark } from "../ui/mark";
import { Problem } from "../ui/problem";
import { readAttachments } from "./attachments";
import type { SaidItem, TurnItem } from "./items";

const Markdown = lazy(() => import("../content/markdown"));

/** What the model said in a step: its answer, and folded what it thought on the way. */
export function Said({ item, live }: { item: SaidItem; live: boolean }) {
	const thinks = live && item.text === "";
	return (
		<article className="answer" aria-label="The model" aria-busy={live}>
			{item.reasoning !== "" && (
				<details className="reasoning">
					<summary>
						{thinks ? "Thinking…" : "Thoughts"}
						<span className="reasoning-glimpse">{item.reasoning.slice(-200).replace(/\s+/g, " ")}</span>
					</summary>
					<p className="plain">{item.reasoning}</p>
				</details>
			)}
			{item.text !== "" && (
				<Suspense fallback={<p className="plain">{item.text}</p>}>
					<Markdown text={item.text} live={live} />
				</Suspense>
			)}
		</article>
	);
}

/** How a turn ended, in a sentence. */
export function turnWords(turn: TurnItem): string {
	const who = turn.model || "The model";
	switch (turn.state) {
		case "finished":
			return turn.ended.limit === "length"
				? `${who} stopped, because its answer was too long.`
				: turn.ended.limit
					? `${who} was stopped by a filter of its server.`
					: `${who} has answered.`;
		case "cancelled":
			return "You stopped the turn.";
		case "failed":
			return turn.ended.error?.message ?? "The turn failed.";
	}
}

/** The line under a turn: how it ended, and what it took. */
export function TurnEnd({ item }: { item: TurnItem }) {
	const { ended, state } = item;
	const plain = state === "finished" && !ended.limit;
	return (
		<div className="turn">
			{state === "failed" && ended.error && <Problem error={ended.error} />}
			<p className="turn-facts">
				{plain ? (
					item.model && <span>{item.model}</span>
				) : (
					<span className="turn-word">
						<Mark tone={state === "failed" ? "bad" : state === "cancelled" ? "off" : "warn"} />
						{state === "failed" ? "Failed" : turnWords(item)}
					</span>
				)}
				<span>{duration(ended.durationMs)}</span>
				{ended.steps > 1 && <span>{count(ended.steps, "step")}</span>}
				{ended.calls > 0 && <span>{count(ended.calls, "call")}</span>}
				<Usage item={item} />
				<time dateTime={item.time} title={exactTime(item.time)}>
					{clockTime(item.time)}
				</time>
			</p>
		</div>
	);
}

function Usage({ item }: { item: TurnItem }) {
	const usage = item.ended.usage;
	if (!usage || usage.inputTokens + usage.outputTokens === 0) return null;
	const exact = [
		`${usage.inputTokens.toLocaleString()} tokens in`,
		usage.cachedTokens > 0 && `${usage.cachedTokens.toLocaleString()} of them cached`,
		`${usage.outputTokens.toLocaleString()} out`,
		usage.reasoningTokens > 0 && `${usage.reasoningTokens.toLocaleString()} of them thoughts`,
	]
		.filter(Boolean)
		.join(", ");
	const share = usage.contextLimit > 0 ? Math.round((usage.contextTokens / usage.contextLimit) * 100) : undefined;
	return (
		<>
			<span title={exact}>
				{tokens(usage.inputTokens)} in, {tokens(usage.outputTokens)} out
			</span>
			{share !== undefined && (
				<span
					title={`${usage.contextTokens.toLocaleString()} of ${usage.contextLimit.toLocaleString()} tokens of context`}
				>
					context {share} %
				</span>
			)}
		</>
	);
}

/** A number of tokens, short: 950, 12.3k. */
export function tokens(n: number): string {
	return n < 1000 ? String(n) : `${(n / 1000).toFixed(n < 99_950 ? 1 : 0)}k`;
}

/** What a person wrote, the resources that went along folded. */
export function Written({ text }: { text: string }) {
	const { said, attached } = useMemo(() => readAttachments(text), [text]);
	return (
		<>
			{said !== "" && <TextBlock text={said} />}
			{attached.map((one, i) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: a message never changes.
				<details key={i} className="attached">
					<summary>
						<span className="resource-uri">
							@{one.server}:{one.uri}
						</span>
					</summary>
					<TextBlock text={one.text} mimeType={one.mimeType || undefined} />
				</details>
			))}
		</>
	);
}
