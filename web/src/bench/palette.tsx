import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from "react";
import { host } from "../catalog/host";
import { openResource } from "../content/open";
import { useStore } from "../store/store";
import { Dialog } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { pickOther, pickTool } from "./draft";
import { type Entry, entriesOf, isOffered, kindIcons, searchEntries } from "./search";

/** What the palette offers. */
export type PaletteFilter = "all" | "tool" | "prompt" | "resource";

const filters: { key: PaletteFilter; label: string }[] = [
	{ key: "all", label: "All" },
	{ key: "tool", label: "Tools" },
	{ key: "prompt", label: "Prompts" },
	{ key: "resource", label: "Resources" },
];

const pageSize = 60;

/** Chooses a tool, a prompt or a resource: type, move with the arrows, Enter. */
export function Palette(props: { filter: PaletteFilter; onClose(): void; onPicked(): void }) {
	const [filter, setFilter] = useState(props.filter);
	const [query, setQuery] = useState("");
	const [at, setAt] = useState(0);
	const [shown, setShown] = useState(pageSize);
	const { catalog, servers } = useStore(host, ({ catalog, servers }) => ({ catalog, servers }));
	const list = useRef<HTMLDivElement>(null);
	const id = useId();

	const entries = useMemo(() => (catalog ? entriesOf(catalog) : []), [catalog]);
	const wanted = useDeferredValue(query);
	const hits = useMemo(() => {
		const kinds = entries.filter((e) =>
			filter === "all" ? isOffered(e) : e.kind === filter || (filter === "resource" && e.kind === "template"),
		);
		return searchEntries(kinds, wanted);
	}, [entries, filter, wanted]);
	const visible = hits.slice(0, shown);
	const current = Math.min(at, Math.max(visible.length - 1, 0));

	useEffect(() => {
		list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
	});

	const choose = (entry: Entry | undefined) => {
		if (!entry) return;
		const { kind, server, id: name } = entry;
		const tool = kind === "tool" && catalog?.tools.find((one) => one.server === server && one.name === name);
		if (tool) pickTool(tool);
		else if (kind === "resource") openResource({ server, uri: name });
		else if (kind !== "tool") pickOther({ kind, server, name });
		if (kind === "resource") props.onClose();
		else props.onPicked();
	};
	const move = (to: number) => {
		if (to >= shown - 1) setShown(shown + pageSize);
		setAt(Math.max(0, Math.min(to, hits.length - 1)));
	};
	const key = (event: KeyboardEvent) => {
		const page = 8;
		const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page }[
			event.key
		];
		if (to !== undefined) {
			event.preventDefault();
			move(to);
		} else if (event.key === "Enter") {
			event.preventDefault();
			choose(visible[current]);
		} else if (event.key === "Tab") {
			event.preventDefault();
			const now = filters.findIndex((f) => f.key === filter);
			const next = filters[(now + (event.shiftKey ? filters.length - 1 : 1)) % filters.length];
			if (next) setFilter(next.key);
			setAt(0);
		}
	};

	const waiting = servers?.filter((server) => server.state === "connecting" || server.state === "reconnecting") ?? [];
	return (
		<Dialog bare title="Choose a tool, prompt or resource" className="palette" onClose={props.onClose}>
			<div className="palette-search">
				<Icon name="search" />
				<input
					autoFocus
					role="combobox"
					aria-expanded="true"
					aria-controls={`${id}-list`}
					aria-activedescendant={visible[current] ? `${id}-${current}` : undefined}
					aria-autocomplete="list"
					aria-label="Search tools, prompts and resources"
					placeholder="Search tools, prompts and resources"
					autoComplete="off"
					spellCheck={false}
					value={query}
					onChange={(event) => {
						setQuery(event.currentTarget.value);
						setAt(0);
						setShown(pageSize);
						list.current?.scrollTo(0, 0);
					}}
					onKeyDown={key}
				/>
				<kbd>Esc</kbd>
			</div>
			<div className="palette-filters">
				{filters.map((one) => (
					<button
						key={one.key}
						type="button"
						aria-pressed={filter === one.key}
						tabIndex={-1}
						onClick={() => {
							setFilter(one.key);
							setAt(0);
						}}
					>
						{one.label}
					</button>
				))}
				<span className="muted" role="status">
					{hits.length.toLocaleString()} found
				</span>
			</div>
			<div
				ref={list}
				id={`${id}-list`}
				role="listbox"
				aria-label="Found"
				tabIndex={-1}
				className="palette-list"
				onScroll={(event) => {
					const box = event.currentTarget;
					if (shown < hits.length && box.scrollTop + box.clientHeight > box.scrollHeight - 400)
						setShown(shown + pageSize);
				}}
			>
				{visible.map((entry, i) => (
					// biome-ignore lint/a11y/useKeyWithClickEvents: the search field above holds the keys of this list.
					<div
						key={entry.key}
						id={`${id}-${i}`}
						role="option"
						aria-selected={i === current}
						tabIndex={-1}
						className="palette-row"
						onClick={() => choose(entry)}
						onMouseMove={() => setAt(i)}
					>
						<Icon name={kindIcons[entry.kind]} />
						<span className="palette-title">{entry.title}</span>
						<span className="palette-server">
							{entry.server}
							{entry.kind !== "tool" && ` · ${entry.kind}`}
						</span>
						<span className="palette-about">{entry.description || entry.id}</span>
					</div>
				))}
			</div>
			{hits.length === 0 && (
				<p className="palette-none">
					{entries.length > 0
						? "Nothing fits. Try fewer words, or another kind with Tab."
						: waiting.length > 0
							? `Nothing yet: ${waiting.map((server) => server.name).join(", ")} still connecting.`
							: "No server offers anything now. The servers page says why."}
				</p>
			)}
			<p className="palette-keys muted">
				<kbd>↑</kbd> <kbd>↓</kbd> move · <kbd>Enter</kbd> choose · <kbd>Tab</kbd> other kind
			</p>
		</Dialog>
	);
}
