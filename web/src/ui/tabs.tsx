import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";

export interface Tab<K extends string> {
	key: K;
	label: ReactNode;
}

/** Tabs over one panel; arrows move between them. */
export function Tabs<K extends string>(props: {
	label: string;
	tabs: readonly Tab<K>[];
	selected: K;
	onSelect(key: K): void;
	children: ReactNode;
	aside?: ReactNode;
}) {
	const id = useId();
	const list = useRef<HTMLDivElement>(null);
	const move = (event: KeyboardEvent) => {
		const at = props.tabs.findIndex((tab) => tab.key === props.selected);
		const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + props.tabs.length, Home: 0, End: props.tabs.length - 1 }[
			event.key
		];
		if (to === undefined) return;
		event.preventDefault();
		const next = to % props.tabs.length;
		const tab = props.tabs[next];
		if (!tab) return;
		props.onSelect(tab.key);
		list.current?.querySelectorAll<HTMLButtonElement>("[role=tab]")[next]?.focus();
	};
	return (
		<>
			<div className="tabs">
				<div ref={list} role="tablist" aria-label={props.label} className="tabs-list" onKeyDown={move}>
					{props.tabs.map((tab) => (
						<button
							key={tab.key}
							type="button"
							role="tab"
							id={`${id}-${tab.key}`}
							aria-selected={tab.key === props.selected}
							aria-controls={`${id}-panel`}
							tabIndex={tab.key === props.selected ? 0 : -1}
							onClick={() => props.onSelect(tab.key)}
						>
							{tab.label}
						</button>
					))}
				</div>
				{props.aside}
			</div>
			<div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${props.selected}`} className="tabs-panel">
				{props.children}
			</div>
		</>
	);
}
