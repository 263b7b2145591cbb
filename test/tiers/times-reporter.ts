import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { slowFiles } from './slow-files.ts';
import { type FileTime, tierTable, timesReport } from './times.ts';

/**
 * Prints the time of each tier and the slowest files at the end of a run. With `MESH_TEST_TIMES=<file>`, writes the
 * table of the tiers into that file.
 */
export class TimesReporter implements Reporter {
  #root = '';
  #beganAt = 0;

  onInit({ config }: Vitest): void {
    this.#root = config.root;
  }

  onTestRunStart(): void {
    this.#beganAt = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module): FileTime => {
      const { duration, collectDuration, setupDuration, prepareDuration } = module.diagnostic();
      return {
        tier: module.project.name,
        file: relative(this.#root, module.moduleId),
        tests: [...module.children.allTests()].length,
        ms: duration + collectDuration + setupDuration + prepareDuration,
      };
    });
    const wallMs = performance.now() - this.#beganAt;
    console.log(timesReport(files, wallMs, slowFiles));
    const table = process.env.MESH_TEST_TIMES;
    if (table) writeFileSync(table, tierTable(files, wallMs));
  }
}
