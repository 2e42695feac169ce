import { Dialog } from "./ui/dialog";

const keys: [keys: string[], what: string][] = [
	[["/"], "Find a tool, prompt or resource"],
	[["Ctrl", "K"], "The same, also while typing"],
	[["@"], "Find a resource"],
	[["Ctrl", "Enter"], "Run what is on the bench"],
	[["Enter"], "Send the message"],
	[["Shift", "Enter"], "Another line of the message"],
	[["↑", "↓"], "What you wrote before"],
	[["Esc"], "Stop the model, or close what is open"],
	[["Y", "S", "A", "N"], "Allow once, this session, always; no"],
	[["Alt", "N"], "New session"],
	[["Alt", "S"], "Servers"],
	[["Tab"], "In the finder: another kind"],
	[["←", "→"], "In tabs: the next one"],
	[["?"], "This sheet"],
];

/** What the keys do. */
export function HelpDialog({ onClose }: { onClose(): void }) {
	return (
		<Dialog title="Keys" onClose={onClose}>
			<dl className="keys">
				{keys.map(([combination, what]) => (
					<div key={what}>
						<dt>
							{combination.map((key) => (
								<kbd key={key}>{key}</kbd>
							))}
						</dt>
						<dd>{what}</dd>
					</div>
				))}
			</dl>
		</Dialog>
	);
}
