import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { isObject, plainJSON } from "../api/json";
import type { Display } from "../api/types.gen";
import { AppView } from "../app";
import { host } from "../catalog/host";
import { useStore } from "../store/store";
import { theme as themeStore } from "../store/theme";
import { Boundary } from "../ui/boundary";
import { Dialog } from "../ui/dialog";
import { clockTime, duration, exactTime } from "../ui/format";
import { Mark } from "../ui/mark";
import { Menu } from "../ui/menu";
import { claimFrame } from "./frames";
import type { CallItem } from "./items";

/** An app in the transcript: open, alone, with the name of the server it came from on its frame. */
export default function AppCard(props: { call: CallItem; display: Display; children: ReactNode }) {
	const { call, display } = props;
	const theme = useStore(themeStore, (now) => now);
	const tool = useStore(host, ({ catalog }) =>
		catalog?.tools.find((t) => t.server === call.server && t.name === call.tool),
	);
	const [showText, setShowText] = useState(false);
	const [explaining, setExplaining] = useState(false);
	const [problem, setProblem] = useState<string | undefined>();
	const [round, setRound] = useState(0);
	const [live, setLive] = useState(false);
	const [resting, setResting] = useState(false);
	const place = useRef<HTMLDivElement>(null);

	// Frames are heavy: one starts when it comes near the view, and the one unseen for longest makes room.
	useEffect(() => {
		const box = place.current;
		if (!box || live || resting) return;
		const watch = new IntersectionObserver(
			(entries) => {
				if (entries.some((entry) => entry.isIntersecting)) setLive(true);
			},
			{ rootMargin: "400px" },
		);
		watch.observe(box);
		return () => watch.disconnect();
	}, [live, resting]);
	useEffect(() => {
		const box = place.current;
		if (!live || !box) return;
		return claimFrame(box, () => {
			setLive(false);
			setResting(true);
		});
	}, [live]);

	const input = useMemo(() => plainJSON(call.arguments ?? {}), [call.arguments]);
	const result = useMemo(() => plainJSON(call.finished?.result), [call.finished?.result]);
	const fail = useCallback((reason: string) => setProblem(reason), []);
	const reload = () => {
		setProblem(undefined);
		setResting(false);
		setLive(true);
		setRound((n) => n + 1);
	};

	return (
		<article className="card app" aria-label={`App of ${call.server}: ${call.title || call.tool}`}>
			<header className="app-head">
				<Mark tone={problem ? "warn" : "good"} />
				<span className="card-server">{call.server}</span>
				<span className="card-tool">{call.title || call.tool}</span>
				<span className="card-facts">
					<span className="card-word muted">app</span>
					<span className="card-number">{duration(call.finished?.durationMs ?? 0)}</span>
					<time dateTime={call.requestedAt} title={exactTime(call.requestedAt)}>
						{clockTime(call.requestedAt)}
					</time>
				</span>
				<Menu
					label={`Menu of the app of ${call.server}`}
					entries={[
						{ label: "Reload", icon: "reload", run: reload },
						{
							label: showText ? "Hide the text" : "Open the text instead",
							icon: "file",
							run: () => setShowText(!showText),
						},
						{ label: "Why is this blocked?", icon: "help", run: () => setExplaining(true) },
					]}
				/>
			</header>
			{problem && (
				<p className="card-warning" role="status">
					<Mark tone="warn" /> The app is not shown: {problem}
				</p>
			)}
			<div ref={place} className="app-place" hidden={problem !== undefined || showText}>
				{live && problem === undefined && (
					<Boundary key={round} fallback={null} onError={fail}>
						<AppView
							display={display}
							toolInput={input}
							toolResult={result}
							tool={{
								server: call.server,
								name: call.tool,
								title: call.title || call.tool,
								description: tool?.description,
								inputSchema: tool?.inputSchema,
								outputSchema: tool?.outputSchema,
								annotations: tool?.annotations,
							}}
							theme={theme}
							onProblem={fail}
						/>
					</Boundary>
				)}
				{resting && !live && (
					<p className="app-resting">
						Put to rest, because many apps are open.
						<button type="button" className="button" onClick={reload}>
							Open it again
						</button>
					</p>
				)}
			</div>
			{problem !== undefined || showText ? (
				<div className="card-body">{props.children}</div>
			) : (
				<details className="app-more">
					<summary>Text, arguments and raw result</summary>
					<div className="card-body">{props.children}</div>
				</details>
			)}
			{explaining && <Explain display={display} problem={problem} onClose={() => setExplaining(false)} />}
		</article>
	);
}

const needs: [key: string, what: string][] = [
	["connectDomains", "may be asked for data"],
	["resourceDomains", "may give scripts, styles, images and fonts"],
];
const refused: [key: string, what: string][] = [
	["frameDomains", "Frames of other sites inside the app"],
	["baseUriDomains", "Another base address for its links"],
];

function Explain(props: { display: Display; problem: string | undefined; onClose(): void }) {
	const csp = isObject(props.display.csp) ? props.display.csp : {};
	const list = (key: string) => {
		const value = csp[key];
		return Array.isArray(value) ? value.map(String) : [];
	};
	const permissions = isObject(props.display.permissions) ? Object.keys(props.display.permissions) : [];
	const origins = needs.flatMap(([key, what]) => list(key).map((origin) => ({ origin, what })));
	const declined = refused.filter(([key]) => list(key).length > 0);
	return (
		<Dialog title="What this app may do" onClose={props.onClose}>
			{props.problem && <p className="card-warning">The app is not shown: {props.problem}</p>}
			<p>
				The app comes from <code>{props.display.resourceUri}</code> and runs in a frame of its own, without cookies,
				storage, the daemon or this page. It reaches only what its server declared:
			</p>
			{origins.length === 0 ? (
				<p>
					<b>No site at all.</b> Everything it loads from the network is blocked.
				</p>
			) : (
				<ul>
					{origins.map(({ origin, what }) => (
						<li key={origin + what}>
							<code>{origin}</code> {what}
						</li>
					))}
				</ul>
			)}
			{(declined.length > 0 || permissions.length > 0) && (
				<>
					<p>It asked for these and does not get them:</p>
					<ul>
						{declined.map(([key, what]) => (
							<li key={key}>
								{what}: {list(key).join(", ")}
							</li>
						))}
						{permissions.map((name) => (
							<li key={name}>{name}</li>
						))}
					</ul>
				</>
			)}
			<p className="muted">
				What is blocked stays blocked, whoever asks. If the app needs another site, its server has to declare it with
				the app's resource.
			</p>
		</Dialog>
	);
}
