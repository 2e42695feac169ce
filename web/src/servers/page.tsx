import { type RefObject, useEffect, useState } from "react";
import { api, type ServerAction } from "../api/client";
import { wireError } from "../api/http";
import type { Server, Error as WireError } from "../api/types.gen";
import { host, refreshHost } from "../catalog/host";
import { noticeFailure } from "../store/auth";
import { go, hrefOf, type ServerTab } from "../store/route";
import { useStore } from "../store/store";
import { toast } from "../store/toast";
import { clockTime, duration, exactTime } from "../ui/format";
import { Icon } from "../ui/icons";
import { Code, JsonView } from "../ui/jsonview";
import { Mark, serverState } from "../ui/mark";
import { Empty, Problem } from "../ui/problem";
import { Tabs } from "../ui/tabs";
import { ApproveDialog } from "./approve";
import { PromptList, ResourceList, ToolList } from "./offers";

/** One server: how it stands, why, and what a person may do about it. */
export function ServerPage(props: {
	name: string;
	tab: ServerTab;
	railButton: React.ReactNode;
	main: RefObject<HTMLElement | null>;
	onPicked(): void;
}) {
	const { servers, catalog, problem } = useStore(host, (now) => now);
	const server = servers?.find((one) => one.name === props.name);
	return (
		<main ref={props.main} className="page" id="main" tabIndex={-1}>
			<header className="page-head">
				{props.railButton}
				<nav aria-label="Where you are" className="crumbs">
					<a href={hrefOf({ place: "servers" })}>Servers</a>
					<span aria-hidden="true">/</span>
				</nav>
				<h1>{props.name}</h1>
				{server && <Actions server={server} />}
			</header>
			<div className="page-body">
				{!servers && <p className="muted">Asking the daemon for its servers…</p>}
				{!servers && problem && <Problem error={problem} />}
				{servers && !server && (
					<Empty title={`There is no server named ${props.name}.`}>
						<a className="button" href={hrefOf({ place: "servers" })}>
							All servers
						</a>
					</Empty>
				)}
				{server && (
					<Tabs<ServerTab>
						label={`About ${server.name}`}
						selected={props.tab}
						onSelect={(tab) => go({ place: "server", name: server.name, tab }, true)}
						tabs={[
							{ key: "overview", label: "Overview" },
							{ key: "tools", label: <Counted word="Tools" count={server.tools} /> },
							{ key: "prompts", label: <Counted word="Prompts" count={server.prompts} /> },
							{ key: "resources", label: <Counted word="Resources" count={server.resources} /> },
							{ key: "stderr", label: "stderr" },
						]}
					>
						{props.tab === "overview" && <Overview server={server} />}
						{props.tab === "tools" && (
							<ToolList
								tools={catalog?.tools.filter((tool) => tool.server === server.name)}
								onPicked={props.onPicked}
							/>
						)}
						{props.tab === "prompts" && (
							<PromptList
								prompts={catalog?.prompts.filter((prompt) => prompt.server === server.name)}
								onPicked={props.onPicked}
							/>
						)}
						{props.tab === "resources" && (
							<ResourceList
								resources={catalog?.resources.filter((resource) => resource.server === server.name)}
								templates={catalog?.templates.filter((template) => template.server === server.name)}
								onPicked={props.onPicked}
							/>
						)}
						{props.tab === "stderr" && (
							<StderrTail key={`${server.name} ${server.starts} ${server.state}`} server={server} />
						)}
					</Tabs>
				)}
			</div>
		</main>
	);
}

function Counted({ word, count }: { word: string; count: number }) {
	return (
		<>
			{word} <span className="tab-count">{count.toLocaleString()}</span>
		</>
	);
}

function Actions({ server }: { server: Server }) {
	const [busy, setBusy] = useState<ServerAction | undefined>();
	const [approving, setApproving] = useState(false);
	const act = async (action: ServerAction) => {
		setBusy(action);
		try {
			await api.serverAction(server.name, action);
			await refreshHost();
		} catch (cause) {
			noticeFailure(cause);
			const problem = wireError(cause);
			toast([problem.message, problem.hint].filter(Boolean).join(" "), { tone: "error" });
		} finally {
			setBusy(undefined);
		}
	};
	const disabled = server.state === "disabled";
	const waits = server.state === "awaiting_approval";
	return (
		<div className="page-actions">
			{waits && (
				<button
					type="button"
					className="button primary"
					disabled={busy !== undefined}
					onClick={() => setApproving(true)}
				>
					Review and approve
				</button>
			)}
			{!disabled && !waits && (
				<button type="button" className="button" disabled={busy !== undefined} onClick={() => void act("reconnect")}>
					<Icon name="reload" />
					{busy === "reconnect" ? "Reconnecting…" : "Reconnect"}
				</button>
			)}
			<button
				type="button"
				className="button"
				disabled={busy !== undefined}
				onClick={() => void act(disabled ? "enable" : "disable")}
			>
				{disabled ? (busy === "enable" ? "Enabling…" : "Enable") : busy === "disable" ? "Disabling…" : "Disable"}
			</button>
			{approving && (
				<ApproveDialog
					server={server}
					onClose={() => setApproving(false)}
					onApprove={() => {
						setApproving(false);
						void act("approve");
					}}
				/>
			)}
		</div>
	);
}

function Overview({ server }: { server: Server }) {
	const { tone, words } = serverState(server.state);
	const facts: [string, React.ReactNode][] = [
		[
			"State",
			<span key="state" className="table-state">
				<Mark tone={tone} />
				{words}
				<time className="muted" dateTime={server.since} title={exactTime(server.since)}>
					since {clockTime(server.since)}
				</time>
			</span>,
		],
		["Says it is", [server.serverTitle || server.serverName, server.serverVersion].filter(Boolean).join(" ")],
		["Protocol", server.era && `${server.era}, ${server.protocolVersion}`],
		["Negotiation", negotiationWords(server)],
		["Transport", server.transport],
		["Last handshake", server.connectedMs > 0 && duration(server.connectedMs)],
		["Process", server.pid && `pid ${server.pid}`],
		["Starts", String(server.starts)],
	];
	return (
		<div className="overview">
			{server.error && <Problem error={server.error} />}
			{server.description && <p>{server.description}</p>}
			<dl className="facts">
				{facts
					.filter(([, value]) => value)
					.map(([name, value]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd>{value}</dd>
						</div>
					))}
			</dl>
			{server.warnings && server.warnings.length > 0 && (
				<section aria-label="Warnings">
					<h2>Warnings</h2>
					{server.warnings.map((warning) => (
						<p key={warning} className="card-warning">
							<Mark tone="warn" /> {warning}
						</p>
					))}
				</section>
			)}
			{server.rejected && server.rejected.length > 0 && (
				<section aria-label="Left out">
					<h2>Left out</h2>
					<ul className="plain-list">
						{server.rejected.map((one) => (
							<li key={`${one.kind} ${one.name} ${one.reason}`}>
								{one.kind} <b>{one.name || "without a name"}</b>: {one.reason}
							</li>
						))}
					</ul>
				</section>
			)}
			{server.instructions && (
				<section aria-label="Instructions">
					<h2>Instructions</h2>
					<p className="muted">What the server tells whoever uses it.</p>
					<Code text={server.instructions} />
				</section>
			)}
			<section aria-label="Settings">
				<h2>Settings in effect</h2>
				<div className="table-scroll">
					<table className="table">
						<thead>
							<tr>
								<th scope="col">Setting</th>
								<th scope="col">Value</th>
								<th scope="col">From</th>
							</tr>
						</thead>
						<tbody>
							{server.settings.map((setting) => (
								<tr key={setting.name}>
									<th scope="row">
										<code>{setting.name}</code>
									</th>
									<td>
										<code className="break">{setting.value || "–"}</code>
									</td>
									<td className="muted break">{setting.source}</td>
								</tr>
							))}
						</tbody>
					</table>
				</div>
			</section>
			{server.capabilities !== undefined && server.capabilities !== null && (
				<section aria-label="Capabilities">
					<h2>Capabilities</h2>
					<JsonView value={server.capabilities} />
				</section>
			)}
		</div>
	);
}

function negotiationWords({ negotiation }: Server): string {
	const words = [negotiation.policy === "auto" ? "automatic" : negotiation.policy];
	if (negotiation.probed) {
		words.push(
			`probed in ${duration(negotiation.probeMs ?? 0)}${negotiation.verdict ? `: ${negotiation.verdict}` : ""}`,
		);
	}
	if (negotiation.reason) words.push(negotiation.reason);
	return words.filter(Boolean).join("; ");
}

type Tail = { text: string; truncated: boolean } | { error: WireError };
const tailMs = 2000;

function StderrTail({ server }: { server: Server }) {
	const [tail, setTail] = useState<Tail | undefined>();
	useEffect(() => {
		const gone = new AbortController();
		const read = () => {
			if (document.hidden) return;
			api.stderr(server.name, gone.signal).then(setTail, (cause) => {
				if (!gone.signal.aborted) setTail({ error: wireError(cause) });
			});
		};
		read();
		const timer = setInterval(read, tailMs);
		return () => {
			clearInterval(timer);
			gone.abort();
		};
	}, [server.name]);
	if (!tail) return <p className="muted">Reading…</p>;
	if ("error" in tail) return <Problem error={tail.error} />;
	if (tail.text === "") {
		return (
			<Empty title="The server wrote nothing to stderr.">
				<p>
					{server.transport === "stdio"
						? "What it writes there appears here."
						: "Only servers that Usher starts have one."}
				</p>
			</Empty>
		);
	}
	return (
		<>
			{tail.truncated && <p className="muted">Only the last part is kept.</p>}
			<Code text={tail.text} />
		</>
	);
}
