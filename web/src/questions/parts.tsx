import { useEffect, useState } from "react";
import { isObject, pretty } from "../api/json";
import type { Difference, QuestionAsked } from "../api/types.gen";
import { ContentBlock } from "../content/content";
import { clockTime, elapsed, exactTime } from "../ui/format";
import { JsonView } from "../ui/jsonview";
import { Mark } from "../ui/mark";
import { claimsOf, readAddress } from "./words";

const foldedFrom = 600;

/** The arguments a call wants to run with. Long ones are folded, and say how long they are. */
export function Arguments({ value }: { value: unknown }) {
	if (!isObject(value) || Object.keys(value).length === 0) return <p className="muted">Without arguments.</p>;
	const length = pretty(value).length;
	return (
		<details className="question-part" open={length <= foldedFrom}>
			<summary>
				Arguments
				{length > foldedFrom && <span className="muted"> · {length.toLocaleString()} characters</span>}
			</summary>
			<JsonView value={value} />
		</details>
	);
}

/** What the server says of its tool, marked as what it is: its own words. */
export function Claims({ asked }: { asked: QuestionAsked }) {
	const claims = claimsOf(asked.annotations);
	if (claims.length === 0 && !asked.description) return null;
	return (
		<section className="question-claims" aria-label={`What ${asked.server} claims`}>
			<h4>{asked.server} says of it, and nobody checked:</h4>
			{asked.description && <p className="question-claim">{asked.description}</p>}
			{claims.length > 0 && <p>It {claims.join(", ")}.</p>}
		</section>
	);
}

/** What the server changed about a tool that was allowed before. */
export function Changes({ changes }: { changes: readonly Difference[] }) {
	return (
		<section className="question-changes" aria-label="What changed">
			<h4>
				<Mark tone="warn" /> The server changed this tool since it was allowed:
			</h4>
			<ul>
				{changes.map((change) => (
					<li key={change.where}>
						<code>{change.where}</code>
						{change.before !== undefined && (
							<p>
								<span className="said">before: </span>
								<del>{change.before}</del>
							</p>
						)}
						{change.after !== undefined && (
							<p>
								<span className="said">now: </span>
								<ins>{change.after}</ins>
							</p>
						)}
					</li>
				))}
			</ul>
		</section>
	);
}

/** A whole address, its host easy to see. */
export function WholeAddress({ url }: { url: string }) {
	const address = readAddress(url);
	return (
		<>
			<p className="question-address">
				{address.before}
				<b>{address.host}</b>
				{address.after}
			</p>
			{address.plainHost && (
				<p className="card-warning">
					<Mark tone="warn" />
					<span>
						Its host in the letters of the network: <code>{address.plainHost}</code>
					</span>
				</p>
			)}
			{!address.href && (
				<p className="card-warning">
					<Mark tone="warn" /> This is no plain web address, so it cannot be opened from here.
				</p>
			)}
		</>
	);
}

/** What a server wants the model to be asked. */
export function Sampling({ params, server }: { params: unknown; server: string }) {
	if (!isObject(params)) return null;
	const { messages, systemPrompt, ...rest } = params;
	return (
		<>
			{typeof systemPrompt === "string" && systemPrompt !== "" && (
				<div className="prompt-message">
					<h3>System prompt</h3>
					<p className="plain">{systemPrompt}</p>
				</div>
			)}
			{Array.isArray(messages) &&
				messages.map((message, i) => (
					// biome-ignore lint/suspicious/noArrayIndexKey: a request never changes.
					<div key={i} className="prompt-message">
						<h3>{isObject(message) ? String(message.role) : ""}</h3>
						{(isObject(message) ? [message.content].flat() : [message]).map((block, j) => (
							// biome-ignore lint/suspicious/noArrayIndexKey: a request never changes.
							<ContentBlock key={j} server={server} block={block} />
						))}
					</div>
				))}
			{Object.keys(rest).length > 0 && (
				<details className="question-part">
					<summary>The rest of the request</summary>
					<JsonView value={rest} />
				</details>
			)}
		</>
	);
}

const soonMs = 5 * 60_000;

/** Until when a question waits; the last minutes are counted. */
export function Deadline({ time }: { time: string }) {
	const at = new Date(time).getTime();
	const [now, setNow] = useState(() => Date.now());
	const left = at - now;
	const counted = left < soonMs;
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), counted ? 1000 : 30_000);
		return () => clearInterval(timer);
	}, [counted]);
	if (Number.isNaN(at)) return null;
	const words = left <= 0 ? "time is up" : counted ? `${elapsed(left + 999)} left` : `until ${clockTime(time)}`;
	return (
		<time className="question-deadline" dateTime={time} title={`Waits until ${exactTime(time)}`}>
			{words}
		</time>
	);
}
