import { useState } from "react";
import { isObject, isRawNumber } from "../api/json";

const firstShown = 100;
const openDepth = 3;
const openSize = 24;
const longText = 400;

/** JSON as a tree that folds. Large parts are shown by the hundred. */
export function JsonView({ value }: { value: unknown }) {
	return (
		<div className="json">
			<Value value={value} depth={0} />
		</div>
	);
}

function Value({ value, depth, name }: { value: unknown; depth: number; name?: string }) {
	const label = name === undefined ? null : <span className="json-key">{name}: </span>;
	const list = Array.isArray(value);
	if (!list && !isObject(value)) {
		return (
			<div className="json-row">
				{label}
				<Leaf value={value} />
			</div>
		);
	}
	const entries: [string, unknown][] = list ? value.map((one, i) => [String(i), one]) : Object.entries(value);
	const [open, close] = list ? ["[", "]"] : ["{", "}"];
	if (entries.length === 0) {
		return (
			<div className="json-row">
				{label}
				{open}
				{close}
			</div>
		);
	}
	return (
		<Branch
			label={label}
			entries={entries}
			depth={depth}
			summary={`${open} ${entries.length.toLocaleString()} ${close}`}
			list={list}
		/>
	);
}

function Branch(props: {
	label: React.ReactNode;
	entries: [string, unknown][];
	depth: number;
	summary: string;
	list: boolean;
}) {
	const [open, setOpen] = useState(props.depth === 0 || (props.depth < openDepth && props.entries.length <= openSize));
	const [shown, setShown] = useState(firstShown);
	const rest = props.entries.length - shown;
	return (
		<details className="json-branch" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary>
				{props.label}
				<span className="json-size">{props.summary}</span>
			</summary>
			{open && (
				<div className="json-inner">
					{props.entries.slice(0, shown).map(([key, value]) => (
						<Value key={key} name={key} value={value} depth={props.depth + 1} />
					))}
					{rest > 0 && (
						<button type="button" className="button-quiet" onClick={() => setShown(shown + firstShown * 5)}>
							Show {Math.min(rest, firstShown * 5).toLocaleString()} of {rest.toLocaleString()} more
						</button>
					)}
				</div>
			)}
		</details>
	);
}

function Leaf({ value }: { value: unknown }) {
	const [whole, setWhole] = useState(false);
	if (isRawNumber(value)) return <span className="json-number">{JSON.stringify(value)}</span>;
	if (typeof value !== "string") {
		return <span className={value === null ? "json-null" : `json-${typeof value}`}>{String(value)}</span>;
	}
	const long = value.length > longText && !whole;
	return (
		<>
			<span className="json-string">{JSON.stringify(long ? value.slice(0, longText) : value)}</span>
			{long && (
				<button type="button" className="button-quiet" onClick={() => setWhole(true)}>
					… all {value.length.toLocaleString()} characters
				</button>
			)}
		</>
	);
}

const firstCharacters = 100_000;

/** Text as it is, in the machine's letters. The first 100 000 characters, the rest on demand. */
export function Code({ text, wrap = true }: { text: string; wrap?: boolean }) {
	const [whole, setWhole] = useState(false);
	const cut = !whole && text.length > firstCharacters;
	return (
		<>
			<pre className={wrap ? "code code-wrap" : "code"} tabIndex={0}>
				{cut ? text.slice(0, firstCharacters) : text}
			</pre>
			{cut && (
				<button type="button" className="button-quiet" onClick={() => setWhole(true)}>
					Show all {text.length.toLocaleString()} characters
				</button>
			)}
		</>
	);
}
