import type { Server } from "../api/types.gen";
import { Dialog } from "../ui/dialog";

/** Shows exactly what an approval lets run, setting by setting, before it is given. */
export function ApproveDialog(props: { server: Server; onClose(): void; onApprove(): void }) {
	const { server } = props;
	const value = (name: string) => server.settings.find((setting) => setting.name === name)?.value ?? "";
	const runs = [value("command"), value("args")].filter(Boolean).join(" ") || value("url");
	const given = server.settings.filter((setting) => setting.source !== "default");
	return (
		<Dialog
			wide
			title={`Approve ${server.name}?`}
			onClose={props.onClose}
			footer={
				<>
					<button type="button" className="button" onClick={props.onClose}>
						Not now
					</button>
					<button type="button" className="button primary" onClick={props.onApprove}>
						Approve and start
					</button>
				</>
			}
		>
			<p>
				A file of the project names this server. It has the rights of your account once it runs. The approval holds for
				exactly this; when any of it changes, you are asked again.
			</p>
			{runs && <pre className="code code-wrap">{runs}</pre>}
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
						{given.map((setting) => (
							<tr key={setting.name}>
								<th scope="row">
									<code>{setting.name}</code>
								</th>
								<td>
									<code className="break">{setting.value}</code>
									{setting.note && <strong className="setting-note">{setting.note}</strong>}
								</td>
								<td className="muted break">{setting.source}</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</Dialog>
	);
}
