import { lazy, Suspense, useMemo, useState } from "react";
import { isObject, parseJSON } from "../api/json";
import { Code, JsonView } from "../ui/jsonview";

const Markdown = lazy(() => import("./markdown"));

type Shape = "json" | "markdown" | "plain";
const words: Record<Shape, string> = { json: "Tree", markdown: "Formatted", plain: "As sent" };
const maxParsed = 2 << 20;
const maxMarkdown = 200_000;

/** What a text looks like. Only a hint: the person can always see it as sent. */
export function shapeOf(text: string, mimeType = ""): Shape {
	if (/[/+]json\b/.test(mimeType) || /^\s*[[{]/.test(text)) {
		if (text.length <= maxParsed && isTree(text)) return "json";
	}
	if (text.length > maxMarkdown) return "plain";
	if (/markdown/.test(mimeType)) return "markdown";
	if (mimeType && mimeType !== "text/plain") return "plain";
	const signs =
		/^ {0,3}#{1,6} \S|^ {0,3}```|^\s*[-*+] \S|^\s*\d+[.)] \S|^\|.*\|\s*$|^> |\*\*\S[^*\n]*\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\s]+\)/m;
	return signs.test(text) ? "markdown" : "plain";
}

function isTree(text: string): boolean {
	try {
		const value = parseJSON(text);
		return Array.isArray(value) || isObject(value);
	} catch {
		return false;
	}
}

/** A server's text in the shape that suits it. */
export function TextBlock({ text, mimeType }: { text: string; mimeType?: string | undefined }) {
	const shape = useMemo(() => shapeOf(text, mimeType), [text, mimeType]);
	const [asSent, setAsSent] = useState(false);
	const plain = mimeType && !/^text\/(plain|markdown)/.test(mimeType) ? <Code text={text} /> : <Plain text={text} />;
	if (shape === "plain") return plain;
	return (
		<div className="textblock">
			<button
				type="button"
				className="button-quiet textblock-switch"
				aria-pressed={asSent}
				onClick={() => setAsSent(!asSent)}
			>
				{asSent ? words[shape] : words.plain}
			</button>
			{asSent ? (
				<Plain text={text} />
			) : shape === "json" ? (
				<JsonTree text={text} />
			) : (
				<Suspense fallback={<Plain text={text} />}>
					<Markdown text={text} />
				</Suspense>
			)}
		</div>
	);
}

function JsonTree({ text }: { text: string }) {
	const value = useMemo(() => parseJSON(text), [text]);
	return <JsonView value={value} />;
}

const lineLimit = 40;

function Plain({ text }: { text: string }) {
	const lines = text.split("\n").length;
	return lines > lineLimit || text.length > 8000 ? <Code text={text} /> : <p className="plain">{text}</p>;
}
