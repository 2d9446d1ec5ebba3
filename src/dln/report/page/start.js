/* Start every part of the page, and prepare it for paper. */
"use strict";

startForm();
load(typicalCells());
startPerformance();
startRules();
startRows();
startDial();
startDiagram();
startEdit();
for (const box of document.querySelectorAll(".scroll")) hintScroll(box);

find("download").addEventListener("click", () => download("model.json", modelText));

window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not(#diagram-box)")) part.open = true;
  picture?.fit();
});
