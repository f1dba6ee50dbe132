from tests.faults.client import Client
from tests.faults.stage import Stage
from jobs.models import Workload


def test_a_job_runs(stage: Stage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, env={"TURNO_SIM_SECONDS": "1"})
    print(job.until("succeeded"))
    assert Workload.objects.get(pk=job.id).state == "succeeded"
    nb = luis.submit("notebook", name)
    print(nb.until("running"))
    nb.delete()
    nb.until("deleted")
