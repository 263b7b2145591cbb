import type { Handler } from '../../context/route.ts';

export const version: Handler = () => ({
  version: '0.1.0',
  language: 'typescript',
  languageVersion: process.version,
});
