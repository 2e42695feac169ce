import { useState } from "react";
import { toast } from "../store/toast";
import { Icon } from "./icons";

const confirmMs = 1500;

/** Copies a text. It is asked for on the click, so that nothing large is written out in vain. */
export function CopyButton({ text, label = "Copy" }: { text(): string; label?: string }) {
	const [done, setDone] = useState(false);
	return (
		<button
			type="button"
			className="button-quiet"
			onClick={async () => {
				try {
					await navigator.clipboard.writeText(text());
					setDone(true);
					setTimeout(() => setDone(false), confirmMs);
				} catch {
					toast("The browser did not allow copying.", { tone: "error" });
				}
			}}
		>
			<Icon name="copy" />
			{done ? "Copied" : label}
		</button>
	);
}
