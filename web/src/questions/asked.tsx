import { isObject } from "../api/json";
import type { QuestionItem } from "../session/items";
import { clockTime, exactTime } from "../ui/format";
import { JsonView } from "../ui/jsonview";
import { Mark } from "../ui/mark";
import { chosen } from "./chosen";
import { headlineOf, settledWords, surfaceWords } from "./words";

/** A question in the transcript: waiting it leads to its card, settled it says how it ended and by whom. */
export function AskedRow({ question }: { question: QuestionItem }) {
	const { asked, answered, expired } = question;
	const settled = settledWords(question);
	const headline = headlineOf(asked);
	if (!settled) {
		return (
			<article className="asked asked-waits" aria-label={`Question: ${headline}`}>
				<Mark tone="ask" />
				<span className="asked-what">{headline}</span>
				<button
					type="button"
					className="button-quiet"
					onClick={() => {
						chosen.set(() => asked.questionId);
						document.querySelector<HTMLElement>("#questions")?.focus();
					}}
				>
					Answer below
				</button>
			</article>
		);
	}
	const time = answered?.time ?? expired?.time ?? question.time;
	const content = isObject(answered?.content) ? answered.content : undefined;
	return (
		<details className="asked" aria-label={`Question: ${headline} ${settled.words}`}>
			<summary>
				<Mark tone={settled.yes ? "good" : "off"} />
				<span className="asked-what">{headline}</span>
				<span className="asked-how">
					{settled.words}
					{answered && <span> {surfaceWords(answered.by)}</span>}
				</span>
				<time dateTime={time} title={exactTime(time)}>
					{clockTime(time)}
				</time>
			</summary>
			<div className="asked-body">
				<p className="question-words">{asked.message}</p>
				{asked.url && <p className="question-address">{asked.url}</p>}
				{content && <JsonView value={content} />}
				{asked.kind === "form" && answered?.action === "accept" && !content && (
					<p className="muted">What was filled in is not kept, because a field looked like a secret.</p>
				)}
			</div>
		</details>
	);
}
