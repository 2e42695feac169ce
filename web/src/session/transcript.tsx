import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { TextBlock } from "../content/text";
import { AskedRow } from "../questions/asked";
import { headlineOf } from "../questions/words";
import { Boundary } from "../ui/boundary";
import { clockTime, exactTime } from "../ui/format";
import { Icon } from "../ui/icons";
import { Code } from "../ui/jsonview";
import { Mark } from "../ui/mark";
import { CallCard, outcomeOf } from "./card";
import { type Item, waitingQuestions } from "./items";
import type { Log } from "./log";
import { Said, TurnEnd, turnWords, Written } from "./said";

/** A long session opens at its end; what came before is drawn when the person goes there. */
const windowSize = 120;
const nearEnd = 48;
const handsOnMs = 500;
const columnGap = 20;

/** The session in one column, following its end while the person is there. */
export function TranscriptView({ sessionId, log }: { sessionId: string; log: Log }) {
	const items = log.transcript.items;
	const [from, setFrom] = useState(() => Math.max(0, items.length - windowSize));
	const [atEnd, setAtEnd] = useState(true);
	const scroller = useRef<HTMLDivElement>(null);
	const column = useRef<HTMLDivElement>(null);
	const top = useRef<HTMLDivElement>(null);
	const following = useRef(true);
	const handsOn = useRef(0);
	const heightBefore = useRef(0);
	const place = useRef(-1);

	// The end is where the last thing begins, if that is an app too tall to be seen whole.
	const goToEnd = useCallback(() => {
		const box = scroller.current;
		const last = column.current?.lastElementChild;
		if (!box || !last) return;
		const tall = last.classList.contains("row-app") && last.clientHeight > box.clientHeight - columnGap;
		box.scrollTop = tall
			? box.scrollTop + last.getBoundingClientRect().top - box.getBoundingClientRect().top - columnGap
			: box.scrollHeight;
		place.current = box.scrollTop;
	}, []);
	const toEnd = useCallback(() => {
		goToEnd();
		following.current = true;
		setAtEnd(true);
	}, [goToEnd]);

	// Whatever makes the column grow keeps the end in view, unless it is the person who opens something.
	useLayoutEffect(() => {
		const box = scroller.current;
		const inner = column.current;
		if (!box || !inner) return;
		const follow = new ResizeObserver(() => {
			if (following.current && performance.now() > handsOn.current) goToEnd();
		});
		follow.observe(inner);
		// A question or a longer message takes room from below.
		follow.observe(box);
		goToEnd();
		return () => follow.disconnect();
	}, [goToEnd]);

	useEffect(() => {
		const mark = top.current;
		if (!mark || from === 0) return;
		const watch = new IntersectionObserver(
			(entries) => {
				if (!entries.some((entry) => entry.isIntersecting)) return;
				heightBefore.current = scroller.current?.scrollHeight ?? 0;
				setFrom((now) => Math.max(0, now - windowSize));
			},
			{ root: scroller.current, rootMargin: "600px" },
		);
		watch.observe(mark);
		return () => watch.disconnect();
	}, [from]);

	// biome-ignore lint/correctness/useExhaustiveDependencies: earlier items came in above, and the view stays where it was.
	useLayoutEffect(() => {
		const box = scroller.current;
		if (box && heightBefore.current > 0 && box.scrollTop < 1) box.scrollTop += box.scrollHeight - heightBefore.current;
		heightBefore.current = 0;
	}, [from]);

	return (
		<div className="transcript">
			<section
				ref={scroller}
				className="transcript-scroll"
				aria-label="Transcript"
				tabIndex={0}
				onScroll={(event) => {
					const box = event.currentTarget;
					const left = box.scrollHeight - box.scrollTop - box.clientHeight;
					const end = left < nearEnd || Math.abs(box.scrollTop - place.current) < 2;
					if (!end && performance.now() <= handsOn.current) return;
					following.current = end;
					setAtEnd(end);
				}}
				onPointerDown={() => {
					handsOn.current = performance.now() + handsOnMs;
				}}
				onKeyDown={() => {
					handsOn.current = performance.now() + handsOnMs;
				}}
			>
				<h2 className="said">Transcript</h2>
				<div ref={column} className="transcript-column">
					{from > 0 && (
						<div ref={top} className="transcript-earlier muted">
							{from.toLocaleString()} earlier entries
						</div>
					)}
					{items.slice(from).map((item, i) => (
						<Boundary key={item.key} fallback={<Undrawable item={item} />}>
							<Row
								item={item}
								sessionId={sessionId}
								live={isLive(item, log)}
								openAtFirst={Number(item.key) > log.openedAt || from + i === items.length - 1}
							/>
						</Boundary>
					))}
				</div>
			</section>
			<Announcer log={log} />
			{!atEnd && (
				<button type="button" className="button transcript-end" onClick={toEnd}>
					<Icon name="down" />
					Latest
				</button>
			)}
		</div>
	);
}

const Row = memo(function Row({
	item,
	sessionId,
	openAtFirst,
	live,
}: {
	item: Item;
	sessionId: string;
	openAtFirst: boolean;
	/** The model is saying it now. */
	live: boolean;
}) {
	switch (item.kind) {
		case "message":
			return (
				<article className="row message" aria-label="You wrote">
					<Written text={item.text} />
					<time className="muted" dateTime={item.time} title={exactTime(item.time)}>
						{clockTime(item.time)}
					</time>
				</article>
			);
		case "notice":
			return (
				<p className={`row notice notice-${item.level}`}>
					<Mark tone={item.level === "error" ? "bad" : item.level === "warning" ? "warn" : "off"} label={item.level} />
					{item.text}
				</p>
			);
		case "said":
			return (
				<div className="row">
					<Said item={item} live={live} />
				</div>
			);
		case "turn":
			return (
				<div className="row">
					<TurnEnd item={item} />
				</div>
			);
		case "question":
			return (
				<div className="row asked-row">
					<AskedRow question={item} />
				</div>
			);
		case "summary":
			return (
				<details className="row asked">
					<summary>
						<Mark tone="off" />
						<span className="asked-what">What came before was summed up for the model; here everything stays.</span>
						<time dateTime={item.time} title={exactTime(item.time)}>
							{clockTime(item.time)}
						</time>
					</summary>
					<div className="asked-body">
						<TextBlock text={item.text} />
					</div>
				</details>
			);
		case "call":
			return (
				<div className={item.finished?.display?.type === "mcp_app" ? "row row-app" : "row"}>
					<CallCard call={item} sessionId={sessionId} openAtFirst={openAtFirst} />
				</div>
			);
	}
});

/** Whether the model is saying this now. */
function isLive(item: Item, log: Log): boolean {
	const turn = log.transcript.turn;
	return item.kind === "said" && turn?.turnId === item.turnId && turn.step === item.step;
}

/** What a server sent can be stranger than its card expects; it is shown all the same. */
function Undrawable({ item }: { item: Item }) {
	return (
		<details className="row card card-body">
			<summary>This entry cannot be drawn. As it is kept:</summary>
			<Code text={JSON.stringify(item, null, 2)} />
		</details>
	);
}

/** Says how calls and turns end and what is asked, once each, to those who do not see the cards. */
function Announcer({ log }: { log: Log }) {
	const asked = waitingQuestions(log.transcript).at(-1);
	const last = log.transcript.items.findLast((item) => item.kind === "call" || item.kind === "turn");
	let words = "";
	if (asked) words = `A question waits: ${headlineOf(asked.asked)}`;
	else if (last && Number(last.key) > log.openedAt) {
		words =
			last.kind === "turn" ? turnWords(last) : `${last.title || last.tool} of ${last.server}: ${outcomeOf(last).word}`;
	}
	return (
		<p className="said" role="status">
			{words}
		</p>
	);
}
