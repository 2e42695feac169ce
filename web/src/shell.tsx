import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { Palette, type PaletteFilter } from "./bench/palette";
import { pollHost, refreshHost } from "./catalog/host";
import { peek } from "./content/open";
import { HelpDialog } from "./help";
import { Rail } from "./rail/rail";
import { SessionPage } from "./session/page";
import { refreshSessions } from "./session/sessions";
import { go, route } from "./store/route";
import { useStore } from "./store/store";
import { toasts } from "./store/toast";
import { Boundary } from "./ui/boundary";
import { Icon } from "./ui/icons";
import { Empty } from "./ui/problem";

const ServersPage = lazy(() => import("./servers/table").then((m) => ({ default: m.ServersPage })));
const ServerPage = lazy(() => import("./servers/page").then((m) => ({ default: m.ServerPage })));
const PeekHost = lazy(() => import("./content/peek").then((m) => ({ default: m.PeekHost })));

const sessionsMs = 5000;

/** The page of a person who is logged in. */
export function Shell() {
	const here = useStore(route, (now) => now);
	const peeking = useStore(peek, (now) => now !== undefined);
	const [drawer, setDrawer] = useState(false);
	const [palette, setPalette] = useState<PaletteFilter | undefined>();
	const [help, setHelp] = useState(false);
	// Where a session was left, so that choosing a tool on a server's page leads back to it.
	const lastSession = useRef<string | undefined>(undefined);
	const main = useRef<HTMLElement>(null);
	const rail = useRef<HTMLDivElement>(null);
	if (here.place === "session") lastSession.current = here.id;

	// The drawer is where the person is while it is open, and gives the focus back when it closes.
	useEffect(() => {
		if (!drawer) return;
		const before = document.activeElement as HTMLElement | null;
		rail.current?.querySelector<HTMLElement>("a, button")?.focus();
		const key = (event: KeyboardEvent) => {
			if (event.key === "Escape") setDrawer(false);
		};
		addEventListener("keydown", key);
		return () => {
			removeEventListener("keydown", key);
			before?.focus();
		};
	}, [drawer]);
	useEffect(() => {
		void refreshHost();
		void refreshSessions();
		const shown = () => {
			if (!document.hidden) void refreshSessions();
		};
		document.addEventListener("visibilitychange", shown);
		// No stream tells of the sessions that are not open, and a question may wait there.
		const timer = setInterval(shown, sessionsMs);
		return () => {
			document.removeEventListener("visibilitychange", shown);
			clearInterval(timer);
		};
	}, []);
	useEffect(() => {
		if (here.place === "session") return;
		document.title = `${here.place === "server" ? here.name : "Servers"} · Usher`;
		return pollHost();
	}, [here]);

	const toBench = useCallback(() => {
		setPalette(undefined);
		if (route.get().place !== "session") go({ place: "session", id: lastSession.current });
		// The bench draws first; then its first field is where the person goes on.
		requestAnimationFrame(() =>
			requestAnimationFrame(() =>
				document
					.querySelector<HTMLElement>(".bench-body input, .bench-body textarea, .bench-body select, .bench .primary")
					?.focus(),
			),
		);
	}, []);

	useEffect(() => {
		const key = (event: KeyboardEvent) => {
			if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
			const act = shortcut(event);
			if (!act) return;
			event.preventDefault();
			if (act === "help") setHelp(true);
			else if (act === "new") go({ place: "session", id: undefined });
			else if (act === "servers") go({ place: "servers" });
			else setPalette(act);
		};
		addEventListener("keydown", key);
		return () => removeEventListener("keydown", key);
	}, []);

	const railButton = (
		<button
			type="button"
			className="button-icon rail-open"
			aria-label="Sessions and servers"
			aria-expanded={drawer}
			onClick={() => setDrawer(true)}
		>
			<Icon name="menu" />
		</button>
	);

	return (
		<div className={`shell${drawer ? " shell-drawer" : ""}`}>
			<button type="button" className="skip" onClick={() => main.current?.focus()}>
				Skip to the page
			</button>
			<div ref={rail} className="shell-rail">
				<Rail onGone={() => setDrawer(false)} onHelp={() => setHelp(true)} />
			</div>
			{drawer && (
				<button type="button" className="shell-veil" aria-label="Close the drawer" onClick={() => setDrawer(false)} />
			)}
			<div className="shell-page" inert={drawer}>
				<Boundary key={here.place} fallback={<Broken />}>
					<Suspense fallback={<main className="page" id="main" />}>
						{here.place === "session" && (
							<SessionPage id={here.id} railButton={railButton} main={main} onPalette={setPalette} />
						)}
						{here.place === "servers" && <ServersPage railButton={railButton} main={main} />}
						{here.place === "server" && (
							<ServerPage
								key={here.name}
								name={here.name}
								tab={here.tab}
								railButton={railButton}
								main={main}
								onPicked={toBench}
							/>
						)}
					</Suspense>
				</Boundary>
			</div>
			<Suspense fallback={null}>{peeking && <PeekHost />}</Suspense>
			{/* Not on demand: what is typed after the key that opens it must not be lost. */}
			{palette && <Palette filter={palette} onClose={() => setPalette(undefined)} onPicked={toBench} />}
			{help && <HelpDialog onClose={() => setHelp(false)} />}
			<Toasts />
		</div>
	);
}

/** A part of the page did not come, or did not stand: most often the daemon was exchanged for a newer one. */
function Broken() {
	return (
		<main className="page" id="main">
			<Empty title="This page broke.">
				<p>The daemon may be another version than the page. Nothing is lost; reloading fetches the matching one.</p>
				<button type="button" className="button primary" onClick={() => location.reload()}>
					Reload
				</button>
			</Empty>
		</main>
	);
}

function shortcut(event: KeyboardEvent): PaletteFilter | "help" | "new" | "servers" | undefined {
	const letter = event.key.toLowerCase();
	if ((event.ctrlKey || event.metaKey) && letter === "k") return "all";
	if (event.altKey && !event.ctrlKey && event.code === "KeyN") return "new";
	if (event.altKey && !event.ctrlKey && event.code === "KeyS") return "servers";
	if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
	const target = event.target as HTMLElement;
	if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return undefined;
	// With a model both begin a message.
	const composer = document.querySelector<HTMLTextAreaElement>(".composer-text");
	if (composer && (event.key === "/" || event.key === "@")) {
		composer.focus();
		return undefined;
	}
	return ({ "/": "all", "@": "resource", "?": "help" } as const)[event.key];
}

function Toasts() {
	const all = useStore(toasts, (now) => now);
	return (
		<div className="toasts" role="status">
			{all.map((one) => (
				<div key={one.id} className={`toast toast-${one.tone}`}>
					<span>{one.text}</span>
					{one.action && (
						<button type="button" className="button-quiet" onClick={one.action.run}>
							{one.action.label}
						</button>
					)}
				</div>
			))}
		</div>
	);
}
