import { useEffect, useRef, useState } from "react";
import type { JsonObject } from "../api/json";
import type { QuestionAsked, Error as WireError } from "../api/types.gen";
import { draft } from "../bench/draft";
import type { QuestionItem } from "../session/items";
import { useStore } from "../store/store";
import { Icon } from "../ui/icons";
import { Mark } from "../ui/mark";
import { Problem } from "../ui/problem";
import { sendAnswer } from "./answer";
import { chosen } from "./chosen";
import { QuestionForm } from "./form";
import { Arguments, Changes, Claims, Deadline, Sampling, WholeAddress } from "./parts";
import { type Choice, choicesOf, headlineOf, readAddress } from "./words";

/** What came under the hand a moment ago was not meant by it. */
const armedAfterMs = 500;

/** The questions that wait, above the composer: one is shown, the others keep what was filled in. */
export default function QuestionDock({ questions }: { questions: readonly QuestionItem[] }) {
	const wanted = useStore(chosen, (now) => now);
	const at = Math.max(
		0,
		questions.findIndex((question) => question.asked.questionId === wanted),
	);
	const shown = questions[at]?.asked;
	const box = useRef<HTMLElement>(null);

	// A bench full of fields makes room while something waits.
	useEffect(() => {
		if (draft.get().folded) return;
		draft.set((now) => ({ ...now, folded: true }));
		return () => draft.set((now) => ({ ...now, folded: false }));
	}, []);

	// Whoever is in the middle of something stays there; an idle hand is led to the question.
	const id = shown?.questionId;
	useEffect(() => {
		if (!id) return;
		const active = document.activeElement;
		const idle =
			!active ||
			active === document.body ||
			active.matches("main, .bench .primary") ||
			(active.matches(".composer-text") && (active as HTMLTextAreaElement).value === "");
		if (idle && !document.querySelector("dialog[open]")) box.current?.focus({ preventScroll: true });
	}, [id]);

	if (!shown) return null;
	const step = (by: number) =>
		chosen.set(() => questions[(at + by + questions.length) % questions.length]?.asked.questionId);
	return (
		<section ref={box} className="dock" id="questions" aria-label="A question waits" tabIndex={-1}>
			<header className="question-head">
				<Mark tone="ask" />
				<h3>{headlineOf(shown)}</h3>
				<span className="question-facts">
					{shown.round !== undefined && shown.round > 1 && <span>round {shown.round}</span>}
					<Deadline key={shown.questionId} time={shown.expiresAt} />
					{questions.length > 1 && (
						<span className="question-pager">
							<button
								type="button"
								className="button-icon question-previous"
								aria-label="Question before"
								onClick={() => step(-1)}
							>
								<Icon name="chevron" />
							</button>
							{at + 1} of {questions.length}
							<button type="button" className="button-icon" aria-label="Next question" onClick={() => step(1)}>
								<Icon name="chevron" />
							</button>
						</span>
					)}
				</span>
			</header>
			{questions.map(({ asked }) => (
				<div key={asked.questionId} className="question" hidden={asked !== shown}>
					<Question asked={asked} current={asked === shown} />
				</div>
			))}
		</section>
	);
}

function Question({ asked, current }: { asked: QuestionAsked; current: boolean }) {
	const [sending, setSending] = useState(false);
	const [error, setError] = useState<WireError | undefined>();
	const [armed, setArmed] = useState(false);
	useEffect(() => {
		if (!current) return;
		const timer = setTimeout(() => setArmed(true), armedAfterMs);
		return () => {
			clearTimeout(timer);
			setArmed(false);
		};
	}, [current]);
	const disabled = sending || !armed;

	const answer = async (action: string, content?: JsonObject): Promise<WireError | undefined> => {
		if (disabled) return undefined;
		setSending(true);
		const problem = await sendAnswer(asked.questionId, content === undefined ? { action } : { action, content });
		// After an answer the log says how it went, and the card goes.
		if (problem) setSending(false);
		return problem;
	};
	const choose = async (action: string) => setError(await answer(action));

	return (
		<>
			{asked.kind === "form" ? (
				<>
					<div className="question-say">
						<ServerWords asked={asked} />
						<Warnings asked={asked} />
					</div>
					<QuestionForm asked={asked} disabled={disabled} onAnswer={answer} />
				</>
			) : (
				<>
					<div className="question-body">
						{asked.kind === "permission" || asked.kind === "sampling" ? (
							<p>{asked.message}</p>
						) : (
							<ServerWords asked={asked} />
						)}
						<Warnings asked={asked} />
						{asked.difference && asked.difference.length > 0 && <Changes changes={asked.difference} />}
						{asked.kind === "permission" && <Arguments value={asked.arguments} />}
						{asked.kind === "permission" && <Claims asked={asked} />}
						{asked.url !== undefined && <WholeAddress url={asked.url} />}
						{asked.sampling !== undefined && <Sampling params={asked.sampling} server={asked.server} />}
						{error && <Problem error={error} />}
					</div>
					<Choices asked={asked} current={current} disabled={disabled} onChoose={choose} />
				</>
			)}
		</>
	);
}

function ServerWords({ asked }: { asked: QuestionAsked }) {
	return (
		<blockquote className="question-words">
			<span className="said">{asked.server} writes: </span>
			{asked.message}
		</blockquote>
	);
}

function Warnings({ asked }: { asked: QuestionAsked }) {
	return asked.warnings?.map((warning) => (
		<p key={warning} className="card-warning">
			<Mark tone="warn" /> {warning}
		</p>
	));
}

function Choices(props: {
	asked: QuestionAsked;
	current: boolean;
	disabled: boolean;
	onChoose(action: string): Promise<void>;
}) {
	const { asked, current, disabled } = props;
	const address = asked.url === undefined ? undefined : readAddress(asked.url);
	const choices = choicesOf(asked).filter((choice) => !(address && choice.action === "accept"));
	const latest = useRef(props.onChoose);
	latest.current = props.onChoose;

	// The keys count wherever nobody types.
	useEffect(() => {
		if (!current) return;
		const key = (event: KeyboardEvent) => {
			if (event.defaultPrevented || event.isComposing || event.repeat) return;
			if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
			const target = event.target as HTMLElement;
			if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
			const choice = choicesOf(asked).find((one) => one.key === event.key.toLowerCase());
			if (!choice) return;
			event.preventDefault();
			void latest.current(choice.action);
		};
		addEventListener("keydown", key);
		return () => removeEventListener("keydown", key);
	}, [asked, current]);

	const button = (choice: Choice) => (
		<button
			key={choice.action}
			type="button"
			className={choice.main ? "button primary" : "button"}
			disabled={disabled}
			aria-keyshortcuts={choice.key}
			onClick={() => void props.onChoose(choice.action)}
		>
			{choice.label}
			{choice.key && <kbd>{choice.key}</kbd>}
		</button>
	);
	return (
		<div className="question-foot">
			{address?.href && (
				<a
					className="button primary"
					href={address.href}
					target="_blank"
					rel="noopener noreferrer"
					onClick={(event) => {
						if (!disabled) void props.onChoose("accept");
						else event.preventDefault();
					}}
				>
					<Icon name="external" />
					Open {address.plainHost ?? address.host} in a new tab
				</a>
			)}
			{choices.map(button)}
		</div>
	);
}
