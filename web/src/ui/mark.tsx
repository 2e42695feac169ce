/** What a mark can say; each has its own shape, so that colour is never alone. */
export type Tone = "good" | "busy" | "warn" | "bad" | "ask" | "off";

const shapes: Record<Tone, React.ReactNode> = {
	good: <circle cx="6" cy="6" r="4.5" />,
	busy: <path className="mark-line" d="M6 1.5A4.5 4.5 0 1 1 1.5 6" />,
	warn: <path d="M6 1l5.2 9.5H.8z" />,
	bad: <path className="mark-line" d="M2 2l8 8M10 2l-8 8" />,
	ask: <path d="M6 .8L11.2 6 6 11.2.8 6z" />,
	off: <circle className="mark-line" cx="6" cy="6" r="4" />,
};

/** A small sign of state. Give it a label where no words beside it say the same. */
export function Mark({ tone, label }: { tone: Tone; label?: string }) {
	return (
		// biome-ignore lint/a11y/noSvgWithoutTitle: without a label it is a picture beside the word, and hidden.
		<svg
			className={`mark mark-${tone}`}
			viewBox="0 0 12 12"
			width="12"
			height="12"
			{...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
		>
			{label && <title>{label}</title>}
			{shapes[tone]}
		</svg>
	);
}

const states: Record<string, { tone: Tone; words: string }> = {
	disabled: { tone: "off", words: "Disabled" },
	awaiting_approval: { tone: "ask", words: "Waits for your approval" },
	connecting: { tone: "busy", words: "Connecting" },
	ready: { tone: "good", words: "Ready" },
	degraded: { tone: "warn", words: "Gone; its last catalog stands" },
	reconnecting: { tone: "busy", words: "Reconnecting" },
	failed: { tone: "bad", words: "Failed" },
	closed: { tone: "off", words: "Closed" },
};

/** How a server's state is drawn and said. */
export function serverState(state: string): { tone: Tone; words: string } {
	return states[state] ?? { tone: "off", words: state };
}
