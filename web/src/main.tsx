import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { LoginPage } from "./login";
import { Shell } from "./shell";
import { auth, logIn, takeCode } from "./store/auth";
import { useStore } from "./store/store";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/controls.css";
import "./shell.css";
import "./session/session.css";
import "./chat/chat.css";
import "./bench/bench.css";
import "./content/content.css";
import "./servers/servers.css";

// Before anything else looks at the address.
const code = takeCode();
void logIn(code);

// The address of a running page may get a new code, when its old key no longer counts.
addEventListener("hashchange", () => {
	const next = takeCode();
	if (next) void logIn(next);
});

function Page() {
	const now = useStore(auth, (value) => value);
	switch (now.state) {
		case "asking":
			return null;
		case "in":
			return <Shell />;
		default:
			return <LoginPage auth={now} />;
	}
}

const root = document.getElementById("root");
if (root) {
	createRoot(root).render(
		<StrictMode>
			<Page />
		</StrictMode>,
	);
}
