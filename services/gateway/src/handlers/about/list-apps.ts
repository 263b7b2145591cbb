import { appNames } from '@agentmesh/mesh';
import type { Handler } from '../../context/route.ts';

export const listApps: Handler = ({ mesh }) => appNames(mesh);
