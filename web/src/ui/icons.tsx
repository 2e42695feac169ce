const paths = {
	plus: "M8 3v10M3 8h10",
	search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3",
	close: "M4 4l8 8M12 4l-8 8",
	menu: "M2 4h12M2 8h12M2 12h12",
	more: "M3 8h.01M8 8h.01M13 8h.01",
	chevron: "M6 4l4 4-4 4",
	down: "M8 3v10M4 9l4 4 4-4",
	up: "M8 13V3M4 7l4-4 4 4",
	play: "M5 3l8 5-8 5z",
	stop: "M4 4h8v8H4z",
	reload: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3",
	copy: "M6 6h7v7H6zM10 6V3H3v7h3",
	edit: "M3 13l1-3 7-7 2 2-7 7zM10 4l2 2",
	trash: "M3 4h10M6 4V2.5h4V4M4.5 4l.5 9h6l.5-9",
	sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
	moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
	auto: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12M8 5h4M8 8h6M8 11h4",
	help: "M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6.9V10M8 12.5h.01",
	external: "M9 3h4v4M13 3L7 9M11 9v4H3V5h4",
	file: "M4 2h5l3 3v9H4zM9 2v3h3",
	tool: "M9.5 6.5L3 13M9 3a3.5 3.5 0 0 1 4 4l-1.5 1.5-4-4z",
	prompt: "M3 4h10v7H7l-3 2.5V11H3z",
	servers: "M3 3h10v4H3zM3 9h10v4H3zM5.5 5h.01M5.5 11h.01",
} as const;

export type IconName = keyof typeof paths;

/** A 16-pixel line drawing; always beside a word or in a named button, so it has no name of its own. */
export function Icon({ name }: { name: IconName }) {
	return (
		<svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
			<path d={paths[name]} />
		</svg>
	);
}
