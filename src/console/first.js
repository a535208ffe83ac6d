/*
 * first.js: what cannot wait for the modules: the chosen theme, before anything is painted (theme.js has the rest), and the
 * first question to meted (feed.js takes the answer).
 */
{
	const theme = localStorage.getItem("mete.theme");
	const token = sessionStorage.getItem("mete.token");
	if (theme) document.documentElement.dataset.theme = theme;
	window.meteFirst = fetch("api/v1/node", { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: "no-cache", credentials: "omit" });
	window.meteFirst.catch(() => {});
}
