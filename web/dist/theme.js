// Runs before the first paint, so that a chosen theme never flashes the other one.
(() => {
	try {
		const chosen = localStorage.getItem("usher.theme");
		if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
	} catch {
		// Storage may be refused; the system's preference then decides.
	}
})();
