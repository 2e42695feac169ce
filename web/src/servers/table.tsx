import type { RefObject } from "react";
import type { Server } from "../api/types.gen";
import { host } from "../catalog/host";
import { hrefOf } from "../store/route";
import { useStore } from "../store/store";
import { duration, exactTime } from "../ui/format";
import { Mark, serverState } from "../ui/mark";
import { Empty, Problem } from "../ui/problem";

/** Every server with how it stands. */
export function ServersPage(props: { railButton: React.ReactNode; main: RefObject<HTMLElement | null> }) {
	const { servers, problem } = useStore(host, (now) => now);
	return (
		<main ref={props.main} className="page" id="main" tabIndex={-1}>
			<header className="page-head">
				{props.railButton}
				<h1>Servers</h1>
			</header>
			<div className="page-body">
				{problem && <Problem error={problem} />}
				{!servers && !problem && <p className="muted">Asking the daemon for its servers…</p>}
				{servers?.length === 0 && (
					<Empty title="No server is configured.">
						<p>
							Add one to <code>usher.json</code> and start <code>usher serve</code> again.
						</p>
					</Empty>
				)}
				{servers && servers.length > 0 && <Table servers={servers} />}
			</div>
		</main>
	);
}

function Table({ servers }: { servers: readonly Server[] }) {
	return (
		<section className="table-scroll" aria-label="Servers" tabIndex={0}>
			<table className="table">
				<thead>
					<tr>
						<th scope="col">Server</th>
						<th scope="col">State</th>
						<th scope="col">Protocol</th>
						<th scope="col">Transport</th>
						<th scope="col" className="number">
							Handshake
						</th>
						<th scope="col" className="number">
							Tools
						</th>
						<th scope="col" className="number">
							Prompts
						</th>
						<th scope="col" className="number">
							Resources
						</th>
						<th scope="col" className="number">
							Starts
						</th>
					</tr>
				</thead>
				<tbody>
					{servers.map((server) => {
						const { tone, words } = serverState(server.state);
						return (
							<tr key={server.name}>
								<th scope="row">
									<a href={hrefOf({ place: "server", name: server.name, tab: "overview" })}>{server.name}</a>
									{server.error && <span className="table-error">{server.error.message}</span>}
								</th>
								<td>
									<span className="table-state" title={`Since ${exactTime(server.since)}`}>
										<Mark tone={tone} />
										{words}
									</span>
								</td>
								<td className="nowrap">{server.era ? `${server.era} ${server.protocolVersion ?? ""}` : "–"}</td>
								<td>{server.transport}</td>
								<td className="number">{server.connectedMs > 0 ? duration(server.connectedMs) : "–"}</td>
								<td className="number">{server.tools}</td>
								<td className="number">{server.prompts}</td>
								<td className="number">{server.resources}</td>
								<td className="number">{server.starts}</td>
							</tr>
						);
					})}
				</tbody>
			</table>
		</section>
	);
}
