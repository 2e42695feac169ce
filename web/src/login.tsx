import { useState } from "react";
import { type Auth, logIn } from "./store/auth";
import { Problem } from "./ui/problem";

/** What a browser sees that the daemon does not know, or that does not reach it. */
export function LoginPage({ auth }: { auth: Extract<Auth, { state: "out" | "unreachable" }> }) {
	const [text, setText] = useState("");
	const [busy, setBusy] = useState(false);
	const enter = async (code?: string) => {
		setBusy(true);
		await logIn(code);
		setBusy(false);
	};
	return (
		<main className="login" id="main">
			<img src="/icon.svg" alt="" width="40" height="40" />
			<h1>Usher</h1>
			{auth.state === "unreachable" ? (
				<>
					<Problem error={auth.problem} />
					<button type="button" className="button primary" disabled={busy} onClick={() => void enter()}>
						{busy ? "Trying…" : "Try again"}
					</button>
				</>
			) : (
				<>
					<p>
						This browser has no key yet. <code>usher serve</code> printed an address in its terminal; open it, or paste
						it here. It works once.
					</p>
					{auth.problem && <Problem error={auth.problem} />}
					<form
						onSubmit={(event) => {
							event.preventDefault();
							const code = /#code=(.+)$/.exec(text.trim())?.[1] ?? text.trim();
							if (code) void enter(code);
						}}
					>
						<label className="field-label" htmlFor="login-code">
							Address or code
						</label>
						<input
							id="login-code"
							className="input"
							type="password"
							autoComplete="off"
							value={text}
							onChange={(event) => setText(event.currentTarget.value)}
						/>
						<button type="submit" className="button primary" disabled={busy || text.trim() === ""}>
							{busy ? "Entering…" : "Enter"}
						</button>
					</form>
				</>
			)}
		</main>
	);
}
