import { useEffect, useMemo, useRef, useState } from "react";
import type { Session } from "../api/types.gen";
import { host } from "../catalog/host";
import { deleteSession, moreSessions, refreshSessions, renameSession, sessions } from "../session/sessions";
import { hrefOf, route } from "../store/route";
import { useStore } from "../store/store";
import { chooseTheme, type ThemeChoice, themeChoice } from "../store/theme";
import { clockTime, dayName, exactTime } from "../ui/format";
import { Icon, type IconName } from "../ui/icons";
import { Mark, serverState, type Tone } from "../ui/mark";
import { Menu } from "../ui/menu";

/** Sessions by day, and the servers with how they stand. */
export function Rail(props: { onGone(): void; onHelp(): void }) {
	const [query, setQuery] = useState("");
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: following a link closes the drawer; the links have their own keys.
		<nav
			className="rail"
			aria-label="Sessions and servers"
			onClick={(event) => {
				if ((event.target as Element).closest("a")) props.onGone();
			}}
		>
			<div className="rail-head">
				<a className="rail-brand" href={hrefOf({ place: "session", id: undefined })} aria-label="Usher, start page">
					<img src="/icon.svg" alt="" width="20" height="20" />
					Usher
				</a>
				<a className="button rail-new" href={hrefOf({ place: "session", id: undefined })} title="Alt+N">
					<Icon name="plus" />
					New session
				</a>
			</div>
			<label className="rail-search">
				<Icon name="search" />
				<input
					type="search"
					aria-label="Search sessions"
					placeholder="Search sessions"
					value={query}
					onChange={(event) => setQuery(event.currentTarget.value)}
				/>
			</label>
			<SessionList query={query} />
			<ServerList />
			<div className="rail-foot">
				<ThemeSwitch />
				<button type="button" className="button-icon" aria-label="Keyboard shortcuts" title="?" onClick={props.onHelp}>
					<Icon name="help" />
				</button>
			</div>
		</nav>
	);
}

function SessionList({ query }: { query: string }) {
	const { all, nextCursor, problem, leaving } = useStore(sessions, (now) => now);
	const here = useStore(route, (now) => (now.place === "session" ? now.id : undefined));
	const shown = useMemo(() => {
		const words = query.toLowerCase().split(/\s+/).filter(Boolean);
		return (all ?? []).filter(
			(session) =>
				!session.archived &&
				!leaving.has(session.id) &&
				words.every((word) => (session.title || "untitled session").toLowerCase().includes(word)),
		);
	}, [all, leaving, query]);
	const days = useMemo(() => {
		const groups: { day: string; sessions: Session[] }[] = [];
		for (const session of shown) {
			const day = dayName(session.updatedAt);
			const last = groups.at(-1);
			if (last?.day === day) last.sessions.push(session);
			else groups.push({ day, sessions: [session] });
		}
		return groups;
	}, [shown]);

	return (
		<div className="rail-sessions">
			{days.map(({ day, sessions }) => (
				<div key={day}>
					<h2>{day}</h2>
					<ul>
						{sessions.map((session) => (
							<SessionRow key={session.id} session={session} current={session.id === here} />
						))}
					</ul>
				</div>
			))}
			{problem && (
				<p className="rail-note">
					{problem.message}{" "}
					<button type="button" className="button-quiet" onClick={() => void refreshSessions()}>
						Try again
					</button>
				</p>
			)}
			{all && shown.length === 0 && !problem && (
				<p className="rail-note">
					{query ? "No session has these words." : "Sessions appear here once you began one."}
				</p>
			)}
			{nextCursor && (
				<button type="button" className="button-quiet" onClick={() => void moreSessions()}>
					{query ? "Search older sessions" : "Older sessions"}
				</button>
			)}
		</div>
	);
}

function SessionRow({ session, current }: { session: Session; current: boolean }) {
	const [editing, setEditing] = useState(false);
	const input = useRef<HTMLInputElement>(null);
	const title = session.title || "Untitled session";
	useEffect(() => {
		if (editing) {
			input.current?.focus();
			input.current?.select();
		}
	}, [editing]);
	if (editing) {
		const done = (keep: boolean) => {
			const next = input.current?.value.trim() ?? "";
			setEditing(false);
			if (keep && next !== "" && next !== session.title) void renameSession(session.id, next);
		};
		return (
			<li className="rail-row">
				<input
					ref={input}
					className="input"
					aria-label={`New title of ${title}`}
					defaultValue={session.title}
					maxLength={200}
					onBlur={() => done(true)}
					onKeyDown={(event) => {
						if (event.key === "Enter") done(true);
						if (event.key === "Escape") done(false);
					}}
				/>
			</li>
		);
	}
	return (
		<li className="rail-row">
			<a
				href={hrefOf({ place: "session", id: session.id })}
				aria-current={current ? "page" : undefined}
				title={`${title}\n${exactTime(session.updatedAt)}`}
			>
				{session.questions > 0 && (
					<Mark
						tone="ask"
						label={session.questions === 1 ? "A question waits" : `${session.questions} questions wait`}
					/>
				)}
				<span className="rail-title">{title}</span>
				<time dateTime={session.updatedAt}>{clockTime(session.updatedAt)}</time>
			</a>
			<Menu
				label={`Menu of ${title}`}
				entries={[
					{ label: "Rename", icon: "edit", run: () => setEditing(true) },
					{ label: "Delete", icon: "trash", danger: true, run: () => deleteSession(session.id, title) },
				]}
			/>
		</li>
	);
}

function ServerList() {
	const servers = useStore(host, (now) => now.servers);
	const here = useStore(route, (now) => (now.place === "server" ? now.name : now.place === "servers" ? "" : undefined));
	return (
		<div className="rail-servers">
			<h2>
				<a href={hrefOf({ place: "servers" })} aria-current={here === "" ? "page" : undefined}>
					Servers
				</a>
			</h2>
			<ul>
				{servers?.map((server) => {
					const { tone, words } = serverState(server.state);
					return (
						<li key={server.name} className="rail-row">
							<a
								href={hrefOf({ place: "server", name: server.name, tab: "overview" })}
								aria-current={here === server.name ? "page" : undefined}
								title={server.error ? `${words}: ${server.error.message}` : words}
							>
								<Mark tone={tone} label={words} />
								<span className="rail-title">{server.name}</span>
								<span className="rail-aside">
									{server.state === "ready" ? (server.tools === 1 ? "1 tool" : `${server.tools} tools`) : brief[tone]}
								</span>
							</a>
						</li>
					);
				})}
			</ul>
			{servers?.length === 0 && <p className="rail-note">No server is configured.</p>}
		</div>
	);
}

const brief: Record<Tone, string> = {
	good: "",
	busy: "connecting",
	warn: "gone",
	bad: "failed",
	ask: "approve",
	off: "off",
};

const choices: { choice: ThemeChoice; label: string; icon: IconName }[] = [
	{ choice: "system", label: "As the system", icon: "auto" },
	{ choice: "light", label: "Light", icon: "sun" },
	{ choice: "dark", label: "Dark", icon: "moon" },
];

function ThemeSwitch() {
	const chosen = useStore(themeChoice, (now) => now);
	return (
		<div className="segmented" role="group" aria-label="Theme">
			{choices.map(({ choice, label, icon }) => (
				<button
					key={choice}
					type="button"
					aria-label={label}
					title={label}
					aria-pressed={chosen === choice}
					onClick={() => chooseTheme(choice)}
				>
					<Icon name={icon} />
				</button>
			))}
		</div>
	);
}
