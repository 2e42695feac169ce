import { createStore } from "./store";

/** What the person chose; the system decides for "system". */
export type ThemeChoice = "system" | "light" | "dark";
export type Theme = "light" | "dark";

const key = "usher.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export const themeChoice = createStore<ThemeChoice>(read());
/** The theme that is drawn now. */
export const theme = createStore<Theme>(effective());

dark.addEventListener("change", () => theme.set(effective));
addEventListener("storage", (event) => {
	if (event.key === key) apply(read());
});

/** Chooses a theme for this browser, all windows included. */
export function chooseTheme(choice: ThemeChoice): void {
	try {
		if (choice === "system") localStorage.removeItem(key);
		else localStorage.setItem(key, choice);
	} catch {
		// Storage may be refused; the choice then lasts as long as the page.
	}
	apply(choice);
}

function apply(choice: ThemeChoice): void {
	if (choice === "system") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = choice;
	themeChoice.set(() => choice);
	theme.set(effective);
}

function read(): ThemeChoice {
	const chosen = document.documentElement.dataset.theme;
	try {
		const stored = localStorage.getItem(key);
		if (stored === "light" || stored === "dark") return stored;
	} catch {
		if (chosen === "light" || chosen === "dark") return chosen;
	}
	return "system";
}

function effective(): Theme {
	const chosen = themeChoice.get();
	return chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
}
