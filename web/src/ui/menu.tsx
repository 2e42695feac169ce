import { type KeyboardEvent, useId, useRef, useState } from "react";
import { Icon, type IconName } from "./icons";

export interface MenuEntry {
	label: string;
	icon?: IconName;
	danger?: boolean;
	run(): void;
}

const gap = 4;
const width = 220;

/** A button with a menu behind it, on the browser's own popover: light dismiss and Esc come with it. */
export function Menu(props: { label: string; entries: MenuEntry[]; icon?: IconName }) {
	const id = useId();
	const button = useRef<HTMLButtonElement>(null);
	const list = useRef<HTMLDivElement>(null);
	const [place, setPlace] = useState({ top: 0, left: 0 });
	const [open, setOpen] = useState(false);

	const items = () => [...(list.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]") ?? [])];
	const move = (event: KeyboardEvent) => {
		const all = items();
		const at = all.indexOf(document.activeElement as HTMLButtonElement);
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
		if (event.key === "Tab") list.current?.hidePopover();
		if (to === undefined) return;
		event.preventDefault();
		all.at(to % all.length)?.focus();
	};

	return (
		<>
			<button
				ref={button}
				type="button"
				className="button-icon"
				aria-label={props.label}
				aria-haspopup="menu"
				aria-expanded={open}
				popoverTarget={id}
				onClick={() => {
					const box = button.current?.getBoundingClientRect();
					if (!box) return;
					const height = props.entries.length * 36 + 16;
					const below = box.bottom + gap + height < innerHeight;
					setPlace({
						top: below ? box.bottom + gap : Math.max(gap, box.top - gap - height),
						left: Math.max(gap, Math.min(box.right - width, innerWidth - width - gap)),
					});
				}}
			>
				<Icon name={props.icon ?? "more"} />
			</button>
			<div
				ref={list}
				id={id}
				popover="auto"
				role="menu"
				aria-label={props.label}
				className="menu"
				style={{ top: place.top, left: place.left, width }}
				onKeyDown={move}
				onToggle={(event) => {
					const shown = event.newState === "open";
					setOpen(shown);
					if (shown) items()[0]?.focus();
				}}
			>
				{props.entries.map((entry) => (
					<button
						key={entry.label}
						type="button"
						role="menuitem"
						tabIndex={-1}
						className={entry.danger ? "menu-item danger" : "menu-item"}
						onClick={() => {
							list.current?.hidePopover();
							entry.run();
						}}
					>
						{entry.icon && <Icon name={entry.icon} />}
						{entry.label}
					</button>
				))}
			</div>
		</>
	);
}
